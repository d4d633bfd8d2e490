"""GPUs of all vendors: NVIDIA's through the stand-in library, the others through files of their drivers."""

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from flyball.host import machine_reading
from flyball.host.apple_chip import gpu_of_chip
from flyball.host.background_reading import BackgroundReading, ReadingTimedOut
from flyball.host.card_readings import MachineCards, link_width, read_cards
from flyball.host.gpus import host_gpus, precisions_of
from flyball.host.hardware_parts import HostGpu
from flyball.host.places import HostPlaces
from flyball.host.reasons import Reasons
from flyball_agent.standin.cards import A100, H100, RTX_4090, Values
from flyball_agent.standin.library import StandIn
from flyball_agent.standin.scenario import Scenario
from flyball_agent.standin.scenarios import make_scenario
from tests.client.host.machine_trees import LAPTOP, places_of
from tests.drm_trees import write_card

MI300X = {
    "uevent": "DRIVER=amdgpu\nPCI_SLOT_NAME=0000:C1:00.0",
    "vendor": "0x1002",
    "device": "0x74a1",
    "unique_id": "af12",
    "mem_info_vram_total": str(192 * 2**30),
    "mem_info_vram_used": str(2**30),
    "hwmon/hwmon3/power1_cap": "750000000",
    "hwmon/hwmon3/power1_cap_default": "750000000",
    "hwmon/hwmon3/temp1_input": "41000",
    "hwmon/hwmon3/temp1_crit": "100000",
}


def with_cards(folder: Path, gpus: int, values: Values) -> HostPlaces:
    """Return places with a stand-in library of some idle cards."""
    standin = StandIn(folder / "nvml", Scenario(gpus=gpus).set(values))
    return replace(places_of(folder, {}), nvml_library=str(standin.library))


def read(places: HostPlaces) -> tuple[tuple[HostGpu, ...], Reasons]:
    """Return the GPUs with the reasons."""
    reasons: Reasons = {}
    return host_gpus(places, read_cards(places), reasons), reasons


@pytest.mark.parametrize(
    ("values", "catalogue", "watts"),
    [(H100, "H100 SXM5", 700.0), (A100, "A100 SXM4 80GB", 400.0), (RTX_4090, "GeForce RTX 4090", 450.0)],
)
def test_cards_have_their_name_in_the_catalogue_and_their_limits(
    tmp_path: Path, values: Values, catalogue: str, watts: float
) -> None:
    """Plans and configurations need the name; the review needs limits, clocks and links."""
    gpus, _ = read(with_cards(tmp_path, 2, values))
    assert [gpu.index for gpu in gpus] == [0, 1]
    assert {gpu.catalogue_name for gpu in gpus} == {catalogue}
    assert gpus[0].power_limit_watts == watts
    assert gpus[0].temperature_celsius == 32
    assert gpus[0].memory_bytes is not None
    assert (gpus[0].pcie_width, gpus[0].pcie_width_max) == (16, 16)


def test_a_hopper_card_has_fp8_and_its_highest_temperature(tmp_path: Path) -> None:
    """Its clocks fall from the highest operating temperature on, not from the slowdown of the hardware."""
    gpus, _ = read(with_cards(tmp_path, 1, H100))
    assert gpus[0].precisions["fp8"]
    assert not gpus[0].precisions["fp4"]
    assert gpus[0].precisions_source == "driver"
    assert gpus[0].slowdown_celsius == 87
    assert (gpus[0].nvlinks, gpus[0].ecc_enabled, gpus[0].retired_pages) == (18, True, 0)
    assert gpus[0].persistence_mode is True


def test_what_a_card_does_not_support_is_none_with_the_drivers_reason(tmp_path: Path) -> None:
    """A consumer card has no ECC and no NVLink: unknown is not zero."""
    gpus, reasons = read(with_cards(tmp_path, 1, RTX_4090))
    assert gpus[0].ecc_enabled is None
    assert reasons["gpus.0.ecc_enabled"]
    assert gpus[0].pcie_width_card is None
    assert "sysfs" in reasons["gpus.0.pcie_width_card"]


def test_each_unknown_value_of_a_card_has_a_reason(tmp_path: Path) -> None:
    """Even of a card about which the driver reports almost nothing."""
    gpus, reasons = read(with_cards(tmp_path, 1, {"name": "NVIDIA Something", "memory_total": 2**33}))
    unknown = {name for name in HostGpu.__slots__ if getattr(gpus[0], name) is None}
    assert "catalogue_name" in unknown
    assert {f"gpus.0.{name}" for name in unknown} <= reasons.keys()


def test_a_lost_card_is_listed_with_its_reason(tmp_path: Path) -> None:
    """The others are there, and what to do about the lost one is in the reason."""
    standin = StandIn(tmp_path / "nvml", Scenario(gpus=2).set(H100).lose(1))
    gpus, reasons = read(replace(places_of(tmp_path, {}), nvml_library=str(standin.library)))
    assert [gpu.index for gpu in gpus] == [0]
    assert "the GPU is lost; drain the host" in reasons["gpus.lost.1"]


def test_a_driver_that_hangs_leaves_the_other_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After its time limit the profile is made without GPUs, and the reason is the time."""
    monkeypatch.setattr(machine_reading, "GPU_SECONDS", 0.2)
    standin = StandIn(tmp_path / "nvml", Scenario(gpus=1).set(H100).hang("nvmlInit_v2", 1.0))
    places = replace(places_of(tmp_path, LAPTOP), nvml_library=str(standin.library))
    profile = machine_reading.read_machine_profile(places)
    assert profile.gpus == ()
    assert profile.unavailable["gpus"] == "the driver gave no answer within 0.2 s"
    assert profile.processor.physical_cores == 1


def test_active_throttling_is_listed(tmp_path: Path) -> None:
    """The second GPU of the scenario is hot."""
    scenario = make_scenario("straggler", 2)
    standin = StandIn(tmp_path / "nvml", scenario)
    gpus, _ = read(replace(places_of(tmp_path, {}), nvml_library=str(standin.library)))
    assert gpus[1].throttle_reasons == ("hw_thermal",)


def test_cards_of_amd_are_read_from_sysfs(tmp_path: Path) -> None:
    """Their precisions come from the catalogue, because the driver does not report any."""
    places = places_of(tmp_path, {})
    write_card(places.sys, 1, "amdgpu", MI300X)
    gpus, reasons = read(places)
    assert [(gpu.vendor, gpu.model, gpu.catalogue_name) for gpu in gpus] == [
        ("amd", "AMD Instinct MI300X", "Instinct MI300X")
    ]
    assert gpus[0].precisions_source == "catalogue"
    assert gpus[0].precisions["bf16"]
    assert (gpus[0].tdp_watts, gpus[0].tdp_source) == (750.0, "driver")
    assert reasons["gpus.0.compute_capability"] == "only NVIDIA's driver reports it"


def test_graphics_of_a_processor_are_not_accelerators(tmp_path: Path) -> None:
    """They are left out, and the reason names them."""
    places = places_of(tmp_path, {})
    write_card(places.sys, 0, "amdgpu", {**MI300X, "device": "0x15bf", "mem_info_vram_total": str(2**29)})
    gpus, reasons = read(places)
    assert gpus == ()
    assert "1002:15bf is a part of the processor" in reasons["gpus"]


def test_a_machine_without_gpus_has_the_reason_of_each_driver(tmp_path: Path) -> None:
    """It names the libraries and drivers that were searched."""
    gpus, reasons = read(places_of(tmp_path, {}))
    assert gpus == ()
    assert "libnvidia-ml.so.1 was not found" in reasons["gpus"]
    assert "amdgpu" in reasons["gpus"]


def test_a_chip_of_apple_shares_its_memory() -> None:
    """Its name and memory are known without root; power and temperature have their reason."""
    reasons: Reasons = {}
    gpu = gpu_of_chip("Apple M2 Ultra", str(128 * 2**30), reasons)
    assert (gpu.catalogue_name, gpu.unified_memory, gpu.memory_bytes) == ("M2 Ultra (76-core GPU)", True, 128 * 2**30)
    assert "root" in reasons["gpus.0.power_watts"]
    assert gpu_of_chip(None, "none", {}).memory_bytes is None


def test_precisions_without_any_source_are_empty() -> None:
    """Nothing is guessed."""
    assert precisions_of((), None) == ({}, None)
    assert host_gpus(HostPlaces(this_machine=False), MachineCards(), {}) == ()


def test_the_lanes_of_a_card_are_its_own(tmp_path: Path) -> None:
    """The driver reports the fewer lanes of card and slot, sysfs those of the card."""
    folder = tmp_path / "bus/pci/devices/0000:01:00.0"
    folder.mkdir(parents=True)
    (folder / "max_link_width").write_text("16\n")
    assert link_width(tmp_path, "0000:01:00.0") == 16
    (folder / "max_link_width").write_text("255\n")
    assert link_width(tmp_path, "0000:01:00.0") is None


def test_a_driver_that_hangs_costs_only_its_time_limit() -> None:
    """The reading goes on in its thread, and the profile is made without it."""
    release = threading.Event()
    reading = BackgroundReading(release.wait)
    with pytest.raises(ReadingTimedOut, match=r"no answer within 0\.01 s"):
        reading.result(0.01)
    release.set()
    assert reading.result(10) is True


def test_what_a_reading_raises_reaches_the_caller() -> None:
    """A fault in the thread is not lost."""

    def fail() -> int:
        raise OSError("the device is gone")

    with pytest.raises(OSError, match="the device is gone"):
        BackgroundReading(fail).result(10)
