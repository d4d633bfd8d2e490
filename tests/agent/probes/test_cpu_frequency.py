"""Tests of the CPU frequency probe."""

from pathlib import Path

import pytest

from flyball_agent.probes.cpu_frequency import CpuFrequencyProbe, frequencies
from flyball_agent.probes.probe import Absent
from flyball_agent.probes.testing import broken_rules, values_by_name, write_tree

CPUS = "devices/system/cpu"


def test_clocks_are_rounded_to_megahertz() -> None:
    """Differences below one megahertz are noise."""
    assert frequencies([1_000_499, 3_000_600]) == (1_000_000_000, 2_001_000_000, 3_001_000_000)


def test_reports_minimum_mean_and_maximum(tmp_path: Path) -> None:
    """64 cores give three readings, and one sum of their throttle counts."""
    files = {f"{CPUS}/cpu{i}/cpufreq/scaling_cur_freq": f"{2_000_000 + 10_000 * i}\n" for i in range(64)}
    files |= {f"{CPUS}/cpu{i}/thermal_throttle/core_throttle_count": "2\n" for i in range(64)}
    sample = CpuFrequencyProbe(write_tree(tmp_path, files)).read()
    assert values_by_name(sample) == {
        ("cpu_frequency_min_hertz",): 2_000_000_000,
        ("cpu_frequency_mean_hertz",): 2_315_000_000,
        ("cpu_frequency_max_hertz",): 2_630_000_000,
        ("cpu_thermal_throttles_total",): 128,
    }
    assert not list(broken_rules(sample))


def test_missing_throttle_counts_are_unknown(tmp_path: Path) -> None:
    """On AMD and Arm, which do not count throttles, the value is unknown with a reason, not zero."""
    sample = CpuFrequencyProbe(write_tree(tmp_path, {f"{CPUS}/cpu0/cpufreq/scaling_cur_freq": "2000000\n"})).read()
    assert values_by_name(sample)["cpu_thermal_throttles_total",] is None
    assert not list(broken_rules(sample))


def test_without_a_driver_it_is_absent(tmp_path: Path) -> None:
    """Without a cpufreq driver the probe is absent, with a reason."""
    with pytest.raises(Absent, match="cpufreq") as caught:
        CpuFrequencyProbe(write_tree(tmp_path, {f"{CPUS}/cpu0/uevent": ""})).read()
    assert "virtual machine" in caught.value.remedy


def test_a_core_without_a_number_is_left_out(tmp_path: Path) -> None:
    """A core whose clock is `<unknown>` is left out."""
    files = {f"{CPUS}/cpu0/cpufreq/scaling_cur_freq": "<unknown>\n", f"{CPUS}/cpu1/cpufreq/scaling_cur_freq": "7000\n"}
    values = values_by_name(CpuFrequencyProbe(write_tree(tmp_path, files)).read())
    assert values["cpu_frequency_min_hertz",] == 7_000_000


def package(cpu: int, package: int, core: int) -> dict[str, str]:
    """Return one hardware thread of an Intel processor; its package has throttled 40 times for 1.5 s."""
    folder = f"{CPUS}/cpu{cpu}"
    return {
        f"{folder}/topology/physical_package_id": f"{package}\n",
        f"{folder}/topology/core_id": f"{core}\n",
        f"{folder}/thermal_throttle/core_throttle_count": "5\n",
        f"{folder}/thermal_throttle/package_throttle_count": f"4{package}\n",
        f"{folder}/thermal_throttle/package_throttle_total_time_ms": "1500\n",
    }


def test_threads_of_one_core_count_once(tmp_path: Path) -> None:
    """Both hardware threads of a core count its throttles, and all threads those of their package."""
    files = package(0, 0, 0) | package(1, 0, 1) | package(2, 1, 0) | package(3, 0, 0)
    sample = CpuFrequencyProbe(write_tree(tmp_path, files)).read()
    values = values_by_name(sample)
    assert values["cpu_thermal_throttles_total",] == 15
    assert values["cpu_package_throttles_total", "0"] == 40
    assert values["cpu_package_throttles_total", "1"] == 41
    assert values["cpu_package_throttled_seconds_total", "1"] == 1.5
    assert len(sample.columns) == 8
    assert not list(broken_rules(sample))


def test_packages_are_read_without_a_cpufreq_driver(tmp_path: Path) -> None:
    """If only the packages count throttles, their counters are reported."""
    files = {f"{CPUS}/cpu0/thermal_throttle/package_throttle_count": "7\n"}
    values = values_by_name(CpuFrequencyProbe(write_tree(tmp_path, files)).read())
    assert values["cpu_package_throttles_total", "0"] == 7


def test_an_impossible_clock_is_left_out(tmp_path: Path) -> None:
    """A clock of 4 THz is nonsense and does not spoil the mean of the others."""
    files = {
        f"{CPUS}/cpu0/cpufreq/scaling_cur_freq": "4294967295\n",
        f"{CPUS}/cpu1/cpufreq/scaling_cur_freq": "2000000\n",
    }
    values = values_by_name(CpuFrequencyProbe(write_tree(tmp_path, files)).read())
    assert values["cpu_frequency_max_hertz",] == 2_000_000_000
