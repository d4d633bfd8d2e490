"""Tests of the temperature probe."""

from pathlib import Path

import pytest

from flyball_agent.probes.probe import Absent
from flyball_agent.probes.temperature import TemperatureProbe
from flyball_agent.probes.testing import broken_rules, values_by_name, write_tree

CORETEMP = {
    "devices/coretemp.0/uevent": "",
    "class/hwmon/hwmon0/name": "coretemp\n",
    "class/hwmon/hwmon0/device": "->../../../devices/coretemp.0",
    "class/hwmon/hwmon0/temp1_input": "61000\n",
    "class/hwmon/hwmon0/temp1_label": "Package id 0\n",
    "class/hwmon/hwmon0/temp1_crit": "100000\n",
    "class/hwmon/hwmon0/temp2_input": "58000\n",
    "class/hwmon/hwmon0/temp2_label": "Core 0\n",
}
BOARD = {
    "class/hwmon/hwmon1/name": "nct6775\n",
    "class/hwmon/hwmon1/temp1_input": "-128000\n",
    "class/hwmon/hwmon1/temp2_input": "38500\n",
    "class/hwmon/hwmon1/temp3_input": "39500\n",
    "class/hwmon/hwmon1/temp2_label": "AUX\n",
    "class/hwmon/hwmon1/temp3_label": "AUX\n",
    "class/hwmon/hwmon1/fan1_input": "1450\n",
}


def test_reads_packages_not_cores(tmp_path: Path) -> None:
    """The sensor of a package and its limit are read; the sensors of its cores are skipped."""
    sample = TemperatureProbe(write_tree(tmp_path, CORETEMP)).read()
    assert values_by_name(sample) == {
        ("temperature_celsius", "coretemp.0", "Package id 0"): 61.0,
        ("temperature_critical_celsius", "coretemp.0", "Package id 0"): 100.0,
    }


def test_reads_a_board(tmp_path: Path) -> None:
    """Sensors with the same label are named by number, fans are read, and an unconnected sensor has a reason."""
    sample = TemperatureProbe(write_tree(tmp_path, BOARD)).read()
    assert values_by_name(sample) == {
        ("temperature_celsius", "nct6775-hwmon1", "temp1"): None,
        ("temperature_celsius", "nct6775-hwmon1", "temp2"): 38.5,
        ("temperature_celsius", "nct6775-hwmon1", "temp3"): 39.5,
        ("fan_speed_rpm", "nct6775-hwmon1", "fan1"): 1450,
    }
    assert not list(broken_rules(sample))


def test_falls_back_on_thermal_zones(tmp_path: Path) -> None:
    """Without hwmon the thermal zones are read."""
    files = {"class/thermal/thermal_zone0/type": "cpu-thermal\n", "class/thermal/thermal_zone0/temp": "45500\n"}
    sample = TemperatureProbe(write_tree(tmp_path, files)).read()
    assert values_by_name(sample) == {("temperature_celsius", "thermal_zone0", "cpu-thermal"): 45.5}


def test_a_new_sensor_is_found(tmp_path: Path) -> None:
    """The columns follow the sensors, and without a change they are the same object."""
    probe = TemperatureProbe(write_tree(tmp_path, CORETEMP))
    first = probe.read()
    write_tree(tmp_path, BOARD)
    samples = [probe.read() for _ in range(30)]
    assert samples[0].columns is first.columns
    assert len(samples[-1].columns) == len(first.columns) + 4


def test_none_is_absent(tmp_path: Path) -> None:
    """In a virtual machine without sensors the probe is absent."""
    with pytest.raises(Absent):
        TemperatureProbe(tmp_path).read()


def zone(number: int, kind: str, text: str) -> dict[str, str]:
    """Return a thermal zone."""
    return {f"class/thermal/thermal_zone{number}/type": f"{kind}\n", f"class/thermal/thermal_zone{number}/temp": text}


def test_zones_beside_hwmon_are_read_once(tmp_path: Path) -> None:
    """Zones are read in addition to chips, but not those that are chips themselves, or the package of coretemp."""
    files = CORETEMP | zone(0, "acpitz", "52300\n") | zone(1, "x86_pkg_temp", "61000\n") | zone(2, "cpu-thermal", "5\n")
    files |= {"class/hwmon/hwmon7/name": "cpu_thermal\n"}
    values = values_by_name(TemperatureProbe(write_tree(tmp_path, files)).read())
    assert values == {
        ("temperature_celsius", "coretemp.0", "Package id 0"): 61.0,
        ("temperature_celsius", "thermal_zone0", "acpitz"): 52.3,
        ("temperature_critical_celsius", "coretemp.0", "Package id 0"): 100.0,
    }


def test_the_old_label_of_a_package_is_known(tmp_path: Path) -> None:
    """Older kernels call the package's sensor `Physical id 0`; the sensors of its cores are skipped there too."""
    files = CORETEMP | {"class/hwmon/hwmon0/temp1_label": "Physical id 0\n"}
    values = values_by_name(TemperatureProbe(write_tree(tmp_path, files)).read())
    assert ("temperature_celsius", "coretemp.0", "Physical id 0") in values
    assert len(values) == 2
