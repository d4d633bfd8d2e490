"""Tests of the probe of memory errors."""

from pathlib import Path

import pytest

from flyball_agent.probes.memory_errors import MAX_MODULES, SCAN_EVERY, MemoryErrorProbe
from flyball_agent.probes.probe import Absent
from flyball_agent.probes.testing import broken_rules, values_by_name, write_tree

FOLDER = "devices/system/edac/mc"


def controller(name: str, corrected: int = 0, uncorrected: int = 0) -> dict[str, str]:
    """Return one memory controller."""
    return {f"{FOLDER}/{name}/ce_count": f"{corrected}\n", f"{FOLDER}/{name}/ue_count": f"{uncorrected}\n"}


def module(name: str, corrected: int, label: str = "") -> dict[str, str]:
    """Return one memory module of the first controller."""
    folder = f"{FOLDER}/mc0/{name}"
    return {
        f"{folder}/dimm_label": f"{label}\n",
        f"{folder}/dimm_ce_count": f"{corrected}\n",
        f"{folder}/dimm_ue_count": "0\n",
    }


def test_reads_controllers_and_modules_with_errors(tmp_path: Path) -> None:
    """Each controller has both counters; of the modules only those with errors are listed."""
    files = controller("mc0", 12, 1) | controller("mc1") | module("dimm0", 0) | module("rank3", 12, "CPU0_C1")
    sample = MemoryErrorProbe(write_tree(tmp_path, files)).read()
    assert values_by_name(sample) == {
        ("memory_corrected_errors_total", "mc0"): 12,
        ("memory_uncorrected_errors_total", "mc0"): 1,
        ("memory_corrected_errors_total", "mc1"): 0,
        ("memory_uncorrected_errors_total", "mc1"): 0,
        ("memory_module_corrected_errors_total", "mc0", "rank3 CPU0_C1"): 12,
        ("memory_module_uncorrected_errors_total", "mc0", "rank3 CPU0_C1"): 0,
    }
    assert not sample.unavailable


def test_a_module_appears_after_its_first_error(tmp_path: Path) -> None:
    """The controller reports an error at once, and the scan finds the module."""
    probe = MemoryErrorProbe(write_tree(tmp_path, controller("mc0") | module("dimm1", 0)))
    probe.read()
    write_tree(tmp_path, controller("mc0", 1) | module("dimm1", 1))
    samples = [probe.read() for _ in range(SCAN_EVERY)]
    assert values_by_name(samples[0])["memory_corrected_errors_total", "mc0"] == 1
    assert values_by_name(samples[-1])["memory_module_corrected_errors_total", "mc0", "dimm1"] == 1


def test_the_number_of_modules_is_limited(tmp_path: Path) -> None:
    """However many modules have errors, only some are listed."""
    files = controller("mc0")
    for number in range(MAX_MODULES + 5):
        files |= module(f"dimm{number}", 1)
    sample = MemoryErrorProbe(write_tree(tmp_path, files)).read()
    assert len(sample.columns) == 2 + 2 * MAX_MODULES


def test_a_damaged_counter_is_unknown(tmp_path: Path) -> None:
    """A counter without a number is unknown, with a reason."""
    files = controller("mc0") | {f"{FOLDER}/mc0/ce_count": "what\n"}
    sample = MemoryErrorProbe(write_tree(tmp_path, files)).read()
    assert list(sample.values) == [None, 0]
    assert not list(broken_rules(sample))


def test_none_is_absent_until_the_driver_is_loaded(tmp_path: Path) -> None:
    """Without a driver the probe is absent with a remedy, and finds the controllers when it is loaded."""
    probe = MemoryErrorProbe(tmp_path)
    with pytest.raises(Absent) as caught:
        probe.read()
    assert "EDAC" in caught.value.remedy
    write_tree(tmp_path, controller("mc0"))
    assert len(probe.read().columns) == 2
