"""Tests of the readers of amdgpu's metrics table and error counts."""

from pathlib import Path

import pytest

from flyball_agent.accelerators.amd_readers import RAS_SECONDS, RasReader, TableReader, parse_errors, retired_pages
from flyball_agent.accelerators.card_reader import CardReader
from flyball_agent.accelerators.throttle_reasons import REASONS, amd_reasons
from flyball_agent.probes.probe import Unavailable
from flyball_agent.probes.testing import write_tree
from flyball_proto.unavailable_reading import Reason
from tests.drm_trees import metrics_table

Readings = dict[tuple[str, str], float | str | None]


def readings(reader: CardReader, now: float = 0.0) -> Readings:
    """Return the results by metric and label; a reason is its detail."""
    results = zip(reader.columns, reader.read(now), strict=True)
    return {
        (column.metric.name, column.label): result.detail if isinstance(result, Unavailable) else result
        for column, result in results
    }


def write_table(card: Path, data: bytes) -> None:
    (card / "device").mkdir(parents=True, exist_ok=True)
    (card / "device/gpu_metrics").write_bytes(data)


def residencies(clock_seconds: float, steps: int, *counts: int) -> bytes:
    """Return a table of version 1.7 with prochot, power, socket, regulator and memory counts."""
    values = {32: ("Q", round(clock_seconds * 1e9)), 40: ("I", steps)}
    values |= {44 + 4 * number: ("I", count) for number, count in enumerate(counts)}
    return metrics_table(1, 7, values)


def test_energy_is_counted_in_parts_of_a_joule(tmp_path: Path) -> None:
    """The accumulator has units of 2^-16 J; 0 means that the firmware does not measure energy."""
    write_table(tmp_path, metrics_table(1, 3, {24: ("Q", 65536 * 90)}))
    reader = TableReader(tmp_path, "amdgpu")
    assert readings(reader)["gpu_energy_joules_total", ""] == 90
    write_table(tmp_path, metrics_table(1, 3, {24: ("Q", 0)}))
    assert readings(reader)["gpu_energy_joules_total", ""] == "version 1.3 of gpu_metrics does not provide it"


def test_files_of_their_own_come_before_the_table(tmp_path: Path) -> None:
    """The energy of hwmon and the replays of the PCI device replace those of the table."""
    write_tree(tmp_path / "device", {"hwmon/hwmon4/energy1_input": "1500000\n", "pcie_replay_count": "3\n"})
    write_table(tmp_path, metrics_table(1, 4, {24: ("Q", 65536), 88: ("Q", 9)}))
    found = readings(TableReader(tmp_path, "amdgpu"))
    assert (found["gpu_energy_joules_total", ""], found["gpu_pcie_replays_total", ""]) == (1.5, 3)
    (tmp_path / "device/pcie_replay_count").unlink()
    assert readings(TableReader(tmp_path, "amdgpu"))["gpu_pcie_replays_total", ""] == 9


def test_pcie_errors_have_the_kinds_of_other_vendors(tmp_path: Path) -> None:
    """Returns to the training state and negative acknowledgements are counted by kind."""
    write_table(tmp_path, metrics_table(1, 7, {104: ("Q", 4), 128: ("I", 5), 132: ("I", 6)}))
    found = readings(TableReader(tmp_path, "amdgpu"))
    kinds = ("link_recovery", "nak_sent", "nak_received")
    assert [found["gpu_pcie_errors_total", kind] for kind in kinds] == [4, 5, 6]


def test_throttle_bits_are_reasons(tmp_path: Path) -> None:
    """Each bit of the chip-independent status sets its reason and no other; the status 0 is an answer too."""
    write_table(tmp_path, metrics_table(1, 3, {112: ("Q", 1 << 0 | 1 << 36 | 1 << 46)}))
    reader = TableReader(tmp_path, "amdgpu")
    found = readings(reader)
    active = {reason for reason in REASONS if found["gpu_throttle_active", reason] == 1}
    assert active == {"sw_power_cap", "sw_thermal", "hw_slowdown"}
    write_table(tmp_path, metrics_table(1, 3, {112: ("Q", 0)}))
    assert {readings(reader)["gpu_throttle_active", reason] for reason in REASONS} == {0}


def test_every_documented_throttle_bit_has_one_reason() -> None:
    """Bits of power, current, temperature, regulators, PROCHOT and others are separate reasons."""
    documented = [*range(8), *range(16, 24), *range(32, 48), 56, 57]
    assert all(sum(amd_reasons(1 << bit).values()) == 1 for bit in documented)
    assert not any(sum(amd_reasons(1 << bit).values()) for bit in (8, 15, 24, 31, 48, 55, 58, 63))


def test_residencies_are_seconds(tmp_path: Path) -> None:
    """A residency is a share of the firmware's steps, so 250 of 1,000 steps in 2 s are 0.5 s."""
    write_table(tmp_path, residencies(100, 5000, 7, 100, 40, 3, 20))
    reader = TableReader(tmp_path, "amdgpu")
    first = readings(reader)
    assert first["gpu_throttle_seconds_total", "sw_power_cap"] == 0
    assert first["gpu_throttle_active", "sw_power_cap"] == "version 1.7 of gpu_metrics does not provide it"
    write_table(tmp_path, residencies(102, 6000, 7, 350, 40, 3, 120))
    second = readings(reader)
    assert second["gpu_throttle_seconds_total", "sw_power_cap"] == pytest.approx(0.5)
    assert second["gpu_throttle_seconds_total", "sw_thermal"] == pytest.approx(0.2)
    assert second["gpu_throttle_seconds_total", "hw_thermal"] == 0
    active = {reason for reason in REASONS if second["gpu_throttle_active", reason] == 1}
    assert active == {"sw_power_cap", "sw_thermal"}


def test_residencies_survive_a_wrap_and_an_unchanged_table(tmp_path: Path) -> None:
    """The firmware's counters have 32 bits; a table that it has not updated changes nothing."""
    write_table(tmp_path, residencies(10, 2**32 - 500, 0, 2**32 - 51, 0, 0, 0))
    reader = TableReader(tmp_path, "amdgpu")
    reader.read(0)
    write_table(tmp_path, residencies(11, 500, 0, 49, 0, 0, 0))
    assert readings(reader)["gpu_throttle_seconds_total", "sw_power_cap"] == pytest.approx(0.1)
    again = readings(reader)
    assert again["gpu_throttle_seconds_total", "sw_power_cap"] == pytest.approx(0.1)
    assert again["gpu_throttle_active", "sw_power_cap"] == 1


def test_xgmi_counts_bytes_and_links(tmp_path: Path) -> None:
    """Counters are in KiB and summed over the links; a link is up if its status is 1."""
    values = {136: ("Q", 3), 144: ("Q", 4), 200: ("Q", 10), 264: ("H", 1), 266: ("H", 0), 268: ("H", 1)}
    write_table(tmp_path, metrics_table(1, 7, values))
    found = readings(TableReader(tmp_path, "amdgpu"))
    assert found["gpu_xgmi_receive_bytes_total", ""] == 7 * 1024
    assert found["gpu_xgmi_transmit_bytes_total", ""] == 10 * 1024
    assert found["gpu_xgmi_active_links", ""] == 2


def test_an_unknown_table_is_unsupported(tmp_path: Path) -> None:
    """Without a table, or with one of an unknown version, every column has that reason."""
    assert set(readings(TableReader(tmp_path, "amdgpu")).values()) == {"amdgpu has no gpu_metrics"}
    write_table(tmp_path, b"\x78\x00\x01\x0c" + b"\0" * 116)
    results = TableReader(tmp_path, "amdgpu").read(0)
    assert {result.detail for result in results if isinstance(result, Unavailable)} == {
        "version 1.12 of gpu_metrics is not known"
    }
    assert all(isinstance(result, Unavailable) and result.reason is Reason.UNSUPPORTED for result in results)


def test_errors_of_all_blocks_are_added_and_memory_is_separate(tmp_path: Path) -> None:
    """`umc` is the memory; the other blocks count only in the sum."""
    files = {
        "umc_err_count": "ue: 1\nce: 5\nde: 2\n",
        "gfx_err_count": "ue: 0\nce: 3\n",
        "sdma_err_count": "ue: 4\nce: 0\n",
        "gpu_vram_bad_pages": "0x00000001 : 0x00001000 : R\n0x00000002 : 0x00001000 : P\n0x00000003 : 0x00001000 : R\n",
    }
    write_tree(tmp_path / "device/ras", files)
    reader = RasReader(tmp_path, "amdgpu")
    assert readings(reader) == {
        ("gpu_ecc_corrected_errors_total", ""): 5,
        ("gpu_ecc_uncorrected_errors_total", ""): 1,
        ("gpu_ras_errors_total", "corrected"): 8,
        ("gpu_ras_errors_total", "deferred"): 2,
        ("gpu_ras_errors_total", "uncorrected"): 5,
        ("gpu_retired_pages", "uncorrected"): 2,
    }
    (tmp_path / "device/ras/gfx_err_count").write_text("ue: 9\nce: 3\n")
    assert readings(reader, RAS_SECONDS - 1)["gpu_ras_errors_total", "uncorrected"] == 5
    assert readings(reader, RAS_SECONDS)["gpu_ras_errors_total", "uncorrected"] == 14


def test_a_gpu_without_error_counts_has_a_reason(tmp_path: Path) -> None:
    """A consumer card has no RAS; its errors are unknown, not zero."""
    details = set(readings(RasReader(tmp_path, "amdgpu")).values())
    assert details == {"amdgpu reports no hardware errors (RAS) of this GPU"}


def test_counts_and_pages_are_parsed() -> None:
    """Unknown lines are skipped; only retired pages count."""
    assert parse_errors(b"ce: 7\nxe: 1\n") == {"corrected": 7}
    assert retired_pages(b"") == 0
    assert retired_pages(b"0x1 : 0x1000 : F\n0x2 : 0x1000 : R\n") == 1
