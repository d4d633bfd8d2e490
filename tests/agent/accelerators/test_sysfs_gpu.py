"""Tests of AMD and Intel GPUs with fixture trees of sysfs."""

from pathlib import Path

import pytest

from flyball_agent.accelerators.amd import AmdProbe
from flyball_agent.accelerators.amd_readers import RasReader, TableReader
from flyball_agent.accelerators.card_reader import active_clock, link_generation
from flyball_agent.accelerators.intel import IntelProbe
from flyball_agent.accelerators.pci_models import model_name
from flyball_agent.probes.probe import Absent, ProbeSample
from flyball_agent.probes.testing import write_tree
from flyball_proto.unavailable_reading import Reason
from tests.drm_trees import unexplained, write_card

PCIE = {
    "current_link_speed": "16.0 GT/s PCIe",
    "current_link_width": "8",
    "max_link_speed": "32.0 GT/s PCIe",
    "max_link_width": "16",
    "numa_node": "1",
}
AMDGPU = {
    **PCIE,
    "uevent": "DRIVER=amdgpu\nPCI_SLOT_NAME=0000:c1:00.0",
    "unique_id": "5f8a21d1c0ffee00",
    "product_name": "AMD Instinct MI300X",
    "gpu_busy_percent": "87",
    "mem_busy_percent": "41",
    "mem_info_vram_total": "206141652992",
    "mem_info_vram_used": "150000000000",
    "pp_dpm_sclk": "S: 19Mhz *\n0: 132Mhz\n1: 2100Mhz",
    "pp_dpm_mclk": "0: 900Mhz\n1: 1300Mhz *",
    "hwmon/hwmon5/power1_average": "612000000",
    "hwmon/hwmon5/power1_cap": "750000000",
    "hwmon/hwmon5/power1_cap_min": "0",
    "hwmon/hwmon5/power1_cap_max": "750000000",
    "hwmon/hwmon5/power1_cap_default": "700000000",
    "hwmon/hwmon5/temp1_input": "55000",
    "hwmon/hwmon5/temp1_crit": "100000",
    "hwmon/hwmon5/temp1_emergency": "105000",
    "hwmon/hwmon5/temp3_input": "61000",
    "hwmon/hwmon5/temp3_crit": "95000",
    "hwmon/hwmon5/pwm1": "51",
    "hwmon/hwmon5/freq1_input": "2100000000",
}
XE = {
    **PCIE,
    "uevent": "DRIVER=xe\nPCI_SLOT_NAME=0000:03:00.0",
    "vendor": "0x8086",
    "device": "0xe20b",
    "tile0/gt0/freq0/act_freq": "2350",
    "tile0/gt0/freq0/rp0_freq": "2850",
    "tile0/physical_vram_size_bytes": "0x300000000",
    "hwmon/hwmon2/energy1_input": "123456789",
    "hwmon/hwmon2/power1_max": "190000000",
    "hwmon/hwmon2/power1_rated_max": "200000000",
    "hwmon/hwmon2/temp2_input": "48000",
}


def values_by_metric(sample: ProbeSample) -> dict[str, object]:
    """Return the values of the metrics that have one column a card."""
    pairs = zip(sample.columns, sample.values, strict=True)
    return {column.metric.name: value for column, value in pairs if len(column.labels) == 2}


def without_table(reasons: dict[str, Reason]) -> dict[str, Reason]:
    """Leave out the metrics of `gpu_metrics` and of RAS, which these trees do not have."""
    table = {column.metric.name for column in (*TableReader.columns, *RasReader.columns)}
    return {metric: reason for metric, reason in reasons.items() if metric not in table}


def test_an_amd_card_has_the_common_metrics(tmp_path: Path) -> None:
    """The files of amdgpu give the common columns in base units."""
    write_card(tmp_path, 0, "amdgpu", AMDGPU)
    probe = AmdProbe(tmp_path, proc_root=tmp_path / "proc")
    sample = probe.read()
    expected = {
        "gpu_utilization_ratio": 0.87,
        "gpu_memory_controller_utilization_ratio": 0.41,
        "gpu_memory_total_bytes": 206141652992,
        "gpu_memory_used_bytes": 150000000000,
        "gpu_power_watts": 612,
        "gpu_power_limit_watts": 750,
        "gpu_power_limit_min_watts": 0,
        "gpu_power_limit_max_watts": 750,
        "gpu_power_limit_default_watts": 700,
        "gpu_temperature_celsius": 55,
        "gpu_slowdown_temperature_celsius": 100,
        "gpu_shutdown_temperature_celsius": 105,
        "gpu_memory_temperature_celsius": 61,
        "gpu_memory_temperature_max_celsius": 95,
        "gpu_fan_speed_ratio": 0.2,
        "gpu_sm_clock_hertz": 2_100_000_000,
        "gpu_sm_clock_max_hertz": 2_100_000_000,
        "gpu_memory_clock_hertz": 1_300_000_000,
        "gpu_pcie_generation": 4,
        "gpu_pcie_width_lanes": 8,
        "gpu_pcie_generation_max": 5,
        "gpu_pcie_width_max_lanes": 16,
    }
    known = {name: value for name, value in values_by_metric(sample).items() if value is not None}
    assert known == pytest.approx(expected)
    assert without_table({missing.metric: missing.reason for missing in sample.unavailable}) == {}
    assert unexplained(sample) == set()
    assert {column.labels[:2] for column in sample.columns} == {("AMD-5f8a21d1c0ffee00", "0")}
    (gpu,) = probe.describe()
    assert (gpu.vendor, gpu.model, gpu.pci_address, gpu.numa_node) == ("amd", "AMD Instinct MI300X", "0000:c1:00.0", 1)


def test_an_intel_card_has_reasons_for_missing_metrics(tmp_path: Path) -> None:
    """xe provides clocks, energy and memory size; without reading processes, utilisation is unsupported."""
    write_card(tmp_path, 1, "xe", XE)
    probe = IntelProbe(tmp_path, processes=False)
    sample = probe.read()
    readings = values_by_metric(sample)
    assert readings["gpu_sm_clock_hertz"] == 2_350_000_000
    assert readings["gpu_energy_joules_total"] == pytest.approx(123.456789)
    assert readings["gpu_memory_total_bytes"] == 0x300000000
    assert readings["gpu_temperature_celsius"] == 48
    assert (readings["gpu_power_limit_watts"], readings["gpu_power_limit_default_watts"]) == (190, 200)
    reasons = {missing.metric: missing.reason for missing in sample.unavailable}
    assert unexplained(sample) == set()
    assert reasons["gpu_utilization_ratio"] is Reason.UNSUPPORTED
    (gpu,) = probe.describe()
    assert (gpu.uuid, gpu.vendor, gpu.model, gpu.driver_version) == (
        "INTEL-0000:03:00.0",
        "intel",
        "Intel Arc B580",
        "xe",
    )


def test_i915_is_read_from_its_own_paths(tmp_path: Path) -> None:
    """The clocks of the older driver are read from their other paths."""
    write_card(tmp_path, 0, "i915", {"uevent": "PCI_SLOT_NAME=0000:00:02.0", "numa_node": "-1"})
    (tmp_path / "class/drm/card0/gt_act_freq_mhz").write_text("1150\n")
    sample = IntelProbe(tmp_path, proc_root=tmp_path / "proc").read()
    assert values_by_metric(sample)["gpu_sm_clock_hertz"] == 1_150_000_000


def test_missing_and_invalid_files_have_a_reason(tmp_path: Path) -> None:
    """A missing file is unsupported; an invalid one is a failure until it is valid again."""
    device = write_card(tmp_path, 0, "amdgpu", {**AMDGPU, "gpu_busy_percent": "soon"})
    (device / "hwmon/hwmon5/pwm1").unlink()
    probe = AmdProbe(tmp_path, proc_root=tmp_path / "proc")
    sample = probe.read()
    assert values_by_metric(sample)["gpu_fan_speed_ratio"] is None
    assert without_table({missing.metric: missing.reason for missing in sample.unavailable}) == {
        "gpu_fan_speed_ratio": Reason.UNSUPPORTED,
        "gpu_utilization_ratio": Reason.FAILED,
    }
    (device / "gpu_busy_percent").write_text("12\n")
    sample = probe.read()
    assert values_by_metric(sample)["gpu_utilization_ratio"] == pytest.approx(0.12)
    reasons = {missing.metric: missing.reason for missing in sample.unavailable}
    assert without_table(reasons) == {"gpu_fan_speed_ratio": Reason.UNSUPPORTED}
    again = probe.read()
    assert again.columns is sample.columns
    assert again.unavailable is sample.unavailable


def test_cards_of_other_drivers_are_left_alone(tmp_path: Path) -> None:
    """Each vendor reads only its own cards, and is absent without any."""
    write_card(tmp_path, 0, "xe", XE)
    with pytest.raises(Absent, match="no GPU with the driver amdgpu"):
        AmdProbe(tmp_path, proc_root=tmp_path / "proc").read()


def test_a_new_card_is_found(tmp_path: Path) -> None:
    """Cards are searched every ten seconds."""
    now = [0.0]
    probe = AmdProbe(tmp_path, lambda: now[0], proc_root=tmp_path / "proc")
    with pytest.raises(Absent):
        probe.read()
    write_card(tmp_path, 0, "amdgpu", AMDGPU)
    with pytest.raises(Absent):
        probe.read()
    now[0] = 11
    assert {column.labels[0] for column in probe.read().columns} == {"AMD-5f8a21d1c0ffee00"}


@pytest.mark.parametrize(
    ("text", "expected"), [(b"0: 500Mhz\n1: 1700Mhz *\n", 1_700_000_000), (b"0: 500Mhz\n", None), (b"x: *\n", None)]
)
def test_the_active_clock_has_a_star(text: bytes, expected: int | None) -> None:
    """The active clock is the line with a star; without a star or a number it is unknown."""
    assert active_clock(text) == expected


@pytest.mark.parametrize(("text", "expected"), [(b"2.5 GT/s PCIe\n", 1), (b"64.0 GT/s PCIe", 6), (b"Unknown\n", None)])
def test_link_speeds_are_generations(text: bytes, expected: int | None) -> None:
    """The generation follows from the speed; that of an unknown speed is unknown."""
    assert link_generation(text) == expected


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"product_name": "Instinct MI300X O.A.M.", "vendor": "0x1002", "device": "0x74a1"}, "Instinct MI300X O.A.M."),
        ({"product_name": "", "vendor": "0x1002", "device": "0x74A5"}, "AMD Instinct MI325X"),
        ({"vendor": "0x8086", "device": "0x0bd5"}, "Intel Data Center GPU Max 1550"),
        ({"vendor": "0x1002", "device": "0xffff"}, "unknown model 1002:ffff"),
    ],
)
def test_models_are_named_by_the_driver_or_by_their_ids(tmp_path: Path, files: dict[str, str], expected: str) -> None:
    """The driver's name comes first, then that of the PCI ids, then the ids themselves."""
    assert model_name(write_tree(tmp_path, files)) == expected


@pytest.mark.parametrize(
    ("driver", "folder", "prefix", "status"),
    [
        ("xe", "devices/pci/0/tile0/gt0/freq0/throttle", "reason_", "status"),
        ("i915", "class/drm/card0/gt/gt0", "throttle_reason_", "throttle_reason_status"),
    ],
)
def test_intel_throttle_reasons(tmp_path: Path, driver: str, folder: str, prefix: str, status: str) -> None:
    """A file with 1 means throttling for its reason; while the status is 0, the files of single reasons are ignored."""
    write_card(tmp_path, 0, driver, {"uevent": "PCI_SLOT_NAME=0000:03:00.0"})
    files = {f"{prefix}{name}": "0\n" for name in ("pl1", "pl2", "pl4", "thermal", "prochot", "ratl", "vr_tdc")}
    write_tree(tmp_path / folder, files | {status: "1\n", f"{prefix}pl2": "1\n", f"{prefix}vr_thermalert": "1\n"})
    probe = IntelProbe(tmp_path, processes=False)

    def active() -> set[str]:
        sample = probe.read()
        pairs = zip(sample.columns, sample.values, strict=True)
        return {column.labels[2] for column, value in pairs if len(column.labels) == 3 and value == 1}

    assert active() == {"sw_power_cap", "hw_thermal"}
    (tmp_path / folder / status).write_text("0\n")
    assert active() == set()


def test_a_power_limit_that_is_off_is_unsupported(tmp_path: Path) -> None:
    """xe writes 0 for a limit that is off; that does not mean a limit of 0 W."""
    write_card(tmp_path, 1, "xe", {**XE, "hwmon/hwmon2/power1_max": "0"})
    sample = IntelProbe(tmp_path, processes=False).read()
    assert values_by_metric(sample)["gpu_power_limit_watts"] is None
    details = {missing.metric: missing.detail for missing in sample.unavailable}
    assert details["gpu_power_limit_watts"] == "the power limit is off"
