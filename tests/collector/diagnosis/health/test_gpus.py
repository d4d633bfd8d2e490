"""Health of GPUs: memory errors, row remaps, lost GPUs, links, power brake."""

import numpy as np
import pytest

from flyball_collector.diagnosis.detector import Detector
from flyball_collector.diagnosis.health.ecc import EccDetector
from flyball_collector.diagnosis.health.lost_gpu import LostGpuDetector
from flyball_collector.diagnosis.health.nvlink import NvlinkDetector
from flyball_collector.diagnosis.health.pcie import PcieDetector
from flyball_collector.diagnosis.health.power_brake import PowerBrakeDetector
from flyball_collector.diagnosis.health.row_remap import RowRemapDetector
from flyball_collector.diagnosis.health.settings import HealthSettings
from flyball_collector.diagnosis.kinds import Severity
from flyball_collector.diagnosis.subject import Subject
from flyball_collector.engine.testing.hosts import SimulatedFleet

SETTINGS = HealthSettings()


def test_uncorrected_errors_count_by_their_number() -> None:
    """Errors from before the first reading are raised; corrected ones alone are not; a driver reload clears."""
    fleet = SimulatedFleet(EccDetector())
    fleet.set("gpu_ecc_corrected_errors_total", 500, gpu="GPU-0")
    fleet.set("gpu_ecc_uncorrected_errors_total", 0, gpu="GPU-0")
    fleet.set("gpu_ecc_uncorrected_errors_total", 2, gpu="GPU-1")
    [event] = fleet.step()
    assert (event.subject.gpu, event.severity, event.evidence["uncorrected"]) == ("GPU-1", Severity.CRITICAL, 2)
    fleet.set("gpu_ecc_corrected_errors_total", 900, gpu="GPU-0")
    assert fleet.kinds(30) == []
    fleet.set("gpu_ecc_uncorrected_errors_total", 0, gpu="GPU-1")
    assert fleet.kinds(65) == ["gpu_ecc cleared"]


def test_growth_of_the_lifetime_count_is_used_if_there_is_no_other() -> None:
    """An old lifetime count is history; its growth is an error."""
    fleet = SimulatedFleet(EccDetector())
    fleet.set("gpu_ecc_uncorrected_errors_lifetime_total", 7, gpu="GPU-0")
    assert fleet.kinds(10) == []
    fleet.set("gpu_ecc_uncorrected_errors_lifetime_total", 8, gpu="GPU-0")
    assert fleet.kinds(2) == ["gpu_ecc raised"]
    assert fleet.kinds(3720) == ["gpu_ecc cleared"]


def test_a_pending_row_needs_a_reset_and_a_failed_one_a_new_gpu() -> None:
    """Pending is a warning, failed is critical, a reset clears."""
    fleet = SimulatedFleet(RowRemapDetector())
    fleet.set("gpu_row_remap_pending", 0, gpu="GPU-0")
    fleet.set("gpu_row_remap_failed", 0, gpu="GPU-0")
    assert fleet.kinds(3) == []
    fleet.set("gpu_row_remap_pending", 1, gpu="GPU-0")
    [event] = fleet.step()
    assert (event.severity, "reset" in event.because) == (Severity.WARNING, True)
    fleet.set("gpu_row_remap_failed", 1, gpu="GPU-0")
    [event] = fleet.step()
    assert (event.state, event.severity, "RMA" in event.because) == ("changed", Severity.CRITICAL, True)
    fleet.set("gpu_row_remap_pending", 0, gpu="GPU-0")
    fleet.set("gpu_row_remap_failed", 0, gpu="GPU-0")
    assert fleet.kinds(65) == ["gpu_row_remap cleared"]


def test_a_gpu_that_does_not_respond_is_lost_until_it_does() -> None:
    """The agent's flag raises at once; the return of the GPU clears."""
    fleet = SimulatedFleet(LostGpuDetector(SETTINGS))
    for gpu in ("GPU-0", "GPU-1"):
        fleet.set("gpu_lost", 0, gpu=gpu)
    assert fleet.kinds(5) == []
    fleet.set("gpu_lost", 1, gpu="GPU-1")
    [event] = fleet.step()
    assert (event.kind.name, event.subject.gpu) == ("gpu_lost", "GPU-1")
    fleet.set("gpu_lost", 0, gpu="GPU-1")
    assert fleet.kinds(65) == ["gpu_lost cleared"]


def test_a_gpu_that_is_no_longer_listed_is_lost() -> None:
    """After a start of the agent, one GPU is missing while the others respond; when it is back, it is cleared."""
    fleet = SimulatedFleet(LostGpuDetector(SETTINGS))
    for gpu in ("GPU-0", "GPU-1"):
        fleet.set("gpu_lost", 0, gpu=gpu)
    fleet.step(5)
    fleet.drop("gpu_lost", gpu="GPU-1")
    assert fleet.kinds(55) == []
    [event] = fleet.step(10)
    assert (event.subject.gpu, event.state) == ("GPU-1", "raised")
    assert fleet.kinds(100) == []
    fleet.set("gpu_lost", 0, gpu="GPU-1")
    assert fleet.kinds(65) == ["gpu_lost cleared"]


def test_a_gpu_that_is_missing_for_long_is_forgotten() -> None:
    """Hardware that was removed is not lost forever."""
    fleet = SimulatedFleet(LostGpuDetector(HealthSettings(gpu_missing_seconds=120)))
    for gpu in ("GPU-0", "GPU-1"):
        fleet.set("gpu_lost", 0, gpu=gpu)
    fleet.step(2)
    fleet.drop("gpu_lost", gpu="GPU-1")
    assert fleet.kinds(130) == ["gpu_lost raised", "gpu_lost cleared"]


def test_if_all_gpus_vanish_the_driver_is_the_cause() -> None:
    """If no GPU responds, none is reported as lost; a removed host has no lost GPUs."""
    fleet = SimulatedFleet(LostGpuDetector(SETTINGS))
    fleet.host("b")
    fleet.set("gpu_lost", 0, gpu="GPU-0")
    fleet.step(2)
    fleet.drop("gpu_lost", gpu="GPU-0")
    assert fleet.kinds(300) == []
    fleet.set("gpu_lost", 1, gpu="GPU-0")
    assert fleet.kinds() == ["gpu_lost raised"]
    fleet.not_reporting.add("a")
    fleet.fleet.remove("a")
    assert fleet.kinds() == ["gpu_lost cleared"]


def links(fleet: SimulatedFleet, gpu: str, active: float, of: float = 12) -> None:
    fleet.set("gpu_nvlink_links", of, gpu=gpu)
    fleet.set("gpu_nvlink_active_links", active, gpu=gpu)


def test_a_link_that_goes_down_is_reported_and_unwired_links_are_not() -> None:
    """12 possible links of which 4 or none are wired are fine; 3 of 4 are not."""
    fleet = SimulatedFleet(NvlinkDetector(SETTINGS))
    for gpu in ("GPU-0", "GPU-1"):
        links(fleet, gpu, 4)
    links(fleet, "GPU-2", 0)
    assert fleet.kinds(5) == []
    links(fleet, "GPU-1", 3)
    [event] = fleet.step()
    assert (event.subject.gpu, event.evidence["links_down"]) == ("GPU-1", 1)
    links(fleet, "GPU-1", 4)
    assert fleet.kinds(65) == ["nvlink_down cleared"]


def test_a_link_that_was_down_from_the_start_is_found_by_the_neighbours() -> None:
    """A GPU with fewer links than its neighbours is reported although it was never seen with more."""
    fleet = SimulatedFleet(NvlinkDetector(SETTINGS))
    links(fleet, "GPU-0", 12)
    links(fleet, "GPU-1", 11)
    assert [event.subject.gpu for event in fleet.step()] == ["GPU-1"]


def test_repeated_recoveries_of_links_are_reported() -> None:
    """Recoveries within ten minutes count, old ones do not; a few replays are normal."""
    fleet = SimulatedFleet(NvlinkDetector(SETTINGS))
    links(fleet, "GPU-0", 12)
    fleet.set("gpu_nvlink_errors_total", 40, gpu="GPU-0", kind="recovery")
    fleet.set("gpu_nvlink_errors_total", 0, gpu="GPU-0", kind="replay")
    assert fleet.kinds(5) == []
    fleet.set("gpu_nvlink_errors_total", 300, gpu="GPU-0", kind="replay")
    assert fleet.kinds(5) == []
    fleet.set("gpu_nvlink_errors_total", 41, gpu="GPU-0", kind="recovery")
    assert fleet.kinds(2) == ["nvlink_down raised"]
    assert fleet.kinds(720) == ["nvlink_down cleared"]


def pcie(fleet: SimulatedFleet, generation: float, width: float, busy: float) -> None:
    for name, value in {
        "gpu_pcie_generation": generation,
        "gpu_pcie_generation_max": 4,
        "gpu_pcie_width_lanes": width,
        "gpu_pcie_width_max_lanes": 16,
        "gpu_performance_state": 8 if busy == 0 else 0,
        "gpu_utilization_ratio": busy,
    }.items():
        fleet.set(name, value, gpu="GPU-0")


def test_a_slow_pcie_link_counts_only_under_load() -> None:
    """Generation 1 is normal while idle. Under load it is a fault, which stays active while the GPU idles."""
    fleet = SimulatedFleet(PcieDetector(SETTINGS))
    pcie(fleet, 1, 16, 0)
    assert fleet.kinds(60) == []
    pcie(fleet, 4, 16, 0.9)
    assert fleet.kinds(60) == []
    pcie(fleet, 4, 8, 0.9)
    assert fleet.kinds(25) == []
    [event] = fleet.step(10)
    assert (event.kind.name, event.evidence["rate_ratio"]) == ("pcie_degraded", 0.5)
    pcie(fleet, 1, 16, 0)
    assert fleet.kinds(120) == []
    pcie(fleet, 4, 16, 0.9)
    assert fleet.kinds(80) == ["pcie_degraded cleared"]


def test_the_power_brake_is_detected_by_its_time() -> None:
    """Short brakes between two samples count by the cumulative time; a single one does not; the flag is enough."""
    fleet = SimulatedFleet(PowerBrakeDetector())
    fleet.set("gpu_throttle_active", 0, gpu="GPU-0", reason="hw_power_brake")
    fleet.set("gpu_throttle_seconds_total", 5, gpu="GPU-0", reason="hw_power_brake")
    assert fleet.kinds(5) == []
    fleet.set("gpu_throttle_seconds_total", 5.1, gpu="GPU-0", reason="hw_power_brake")
    assert fleet.kinds(20) == []
    for second in range(10):
        fleet.set("gpu_throttle_seconds_total", 5.1 + second * 0.5, gpu="GPU-0", reason="hw_power_brake")
        kinds = fleet.kinds()
    assert kinds in (["power_brake raised"], [])
    assert [active.kind.name for active in fleet.diagnosis.conditions.active()] == ["power_brake"]
    assert fleet.kinds(90) == ["power_brake cleared"]
    fleet.set("gpu_throttle_active", 1, gpu="GPU-0", reason="hw_power_brake")
    assert fleet.kinds(8) == ["power_brake raised"]


@pytest.mark.parametrize(
    ("detector", "metric", "labels"),
    [
        (EccDetector(), "gpu_ecc_uncorrected_errors_total", {}),
        (RowRemapDetector(), "gpu_row_remap_failed", {}),
        (LostGpuDetector(SETTINGS), "gpu_lost", {}),
        (PowerBrakeDetector(), "gpu_throttle_active", {"reason": "hw_power_brake"}),
    ],
)
def test_a_host_that_stops_reporting_keeps_its_conditions_until_it_is_removed(
    detector: Detector, metric: str, labels: dict[str, str]
) -> None:
    """A host that stops reporting keeps its conditions; removing it clears them."""
    fleet = SimulatedFleet(detector)
    fleet.host("b")
    fleet.set(metric, 1, gpu="GPU-0", **labels)
    assert len(fleet.kinds(8)) == 1
    fleet.not_reporting.add("a")
    assert fleet.kinds(200) == []
    fleet.fleet.remove("a")
    assert [kind.split()[1] for kind in fleet.kinds()] == ["cleared"]


def test_nothing_is_reported_for_unknown_metrics() -> None:
    """A GPU without any of the metrics has no fault."""
    detectors: list[Detector] = [
        EccDetector(),
        RowRemapDetector(),
        LostGpuDetector(SETTINGS),
        NvlinkDetector(SETTINGS),
        PcieDetector(SETTINGS),
        PowerBrakeDetector(),
    ]
    fleet = SimulatedFleet(*detectors)
    fleet.set("gpu_power_watts", 100, gpu="GPU-0")
    assert fleet.step(70) == []
    assert np.isnan(fleet.view.gpu("gpu_lost")).all()


def test_a_new_host_without_gpus_does_not_move_other_gpus() -> None:
    """It is first in the order, but every GPU still belongs to its host."""
    fleet = SimulatedFleet(LostGpuDetector(SETTINGS))
    fleet.set("gpu_lost", 0, host="b", gpu="GPU-0")
    fleet.step(2)
    fleet.host("a")
    fleet.step()
    assert fleet.view.gpus.hosts.tolist() == [fleet.view.hosts.places[Subject("b")]] == [1]
    fleet.not_reporting.add("a")
    fleet.step(10)
    assert fleet.view.gpu("gpu_lost").tolist() == [0]


def test_a_host_whose_only_gpu_is_missing_can_be_removed() -> None:
    """The list of GPUs stays the same, but the detector notices it."""
    fleet = SimulatedFleet(LostGpuDetector(SETTINGS))
    fleet.set("gpu_lost", 0, host="a", gpu="GPU-0")
    fleet.set("gpu_lost", 0, host="z", gpu="GPU-1")
    fleet.step(2)
    fleet.drop("gpu_lost", host="z")
    fleet.step(3)
    fleet.not_reporting.add("z")
    fleet.fleet.remove("z")
    assert fleet.kinds(100) == []


def test_gpus_without_the_drivers_flag_can_be_missing_too() -> None:
    """For other vendors, only the list shows it."""
    fleet = SimulatedFleet(LostGpuDetector(SETTINGS))
    for gpu in ("GPU-0", "GPU-1"):
        fleet.set("gpu_power_watts", 100, gpu=gpu)
    fleet.step(2)
    fleet.drop("gpu_power_watts", gpu="GPU-1")
    assert fleet.kinds(70) == ["gpu_lost raised"]
