"""Health of GPUs: memory errors, rows, lost ones, links, the power brake."""

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
from flyball_collector.engine.testing.hosts import Stage

SETTINGS = HealthSettings()


def test_uncorrected_errors_count_by_their_level() -> None:
    """Errors that were there before the first look are raised; corrected ones alone are not; a reload clears."""
    on = Stage(EccDetector())
    on.set("gpu_ecc_corrected_errors_total", 500, gpu="GPU-0")
    on.set("gpu_ecc_uncorrected_errors_total", 0, gpu="GPU-0")
    on.set("gpu_ecc_uncorrected_errors_total", 2, gpu="GPU-1")
    [event] = on.step()
    assert (event.subject.gpu, event.severity, event.evidence["uncorrected"]) == ("GPU-1", Severity.CRITICAL, 2)
    on.set("gpu_ecc_corrected_errors_total", 900, gpu="GPU-0")
    assert on.kinds(30) == []
    on.set("gpu_ecc_uncorrected_errors_total", 0, gpu="GPU-1")
    assert on.kinds(65) == ["gpu_ecc cleared"]


def test_growth_of_the_lifetime_count_is_an_error_where_there_is_no_other() -> None:
    """An old lifetime count is history; growth is not."""
    on = Stage(EccDetector())
    on.set("gpu_ecc_uncorrected_errors_lifetime_total", 7, gpu="GPU-0")
    assert on.kinds(10) == []
    on.set("gpu_ecc_uncorrected_errors_lifetime_total", 8, gpu="GPU-0")
    assert on.kinds(2) == ["gpu_ecc raised"]
    assert on.kinds(3720) == ["gpu_ecc cleared"]


def test_a_pending_row_wants_a_reset_and_a_failed_one_another_gpu() -> None:
    """Pending warns, failed is critical, a reset clears."""
    on = Stage(RowRemapDetector())
    on.set("gpu_row_remap_pending", 0, gpu="GPU-0")
    on.set("gpu_row_remap_failed", 0, gpu="GPU-0")
    assert on.kinds(3) == []
    on.set("gpu_row_remap_pending", 1, gpu="GPU-0")
    [event] = on.step()
    assert (event.severity, "reset" in event.because) == (Severity.WARNING, True)
    on.set("gpu_row_remap_failed", 1, gpu="GPU-0")
    [event] = on.step()
    assert (event.state, event.severity, "RMA" in event.because) == ("changed", Severity.CRITICAL, True)
    on.set("gpu_row_remap_pending", 0, gpu="GPU-0")
    on.set("gpu_row_remap_failed", 0, gpu="GPU-0")
    assert on.kinds(65) == ["gpu_row_remap cleared"]


def test_a_gpu_that_does_not_answer_is_lost_until_it_does() -> None:
    """The agent's flag raises at once; the GPU's return clears."""
    on = Stage(LostGpuDetector(SETTINGS))
    for gpu in ("GPU-0", "GPU-1"):
        on.set("gpu_lost", 0, gpu=gpu)
    assert on.kinds(5) == []
    on.set("gpu_lost", 1, gpu="GPU-1")
    [event] = on.step()
    assert (event.kind.name, event.subject.gpu) == ("gpu_lost", "GPU-1")
    on.set("gpu_lost", 0, gpu="GPU-1")
    assert on.kinds(65) == ["gpu_lost cleared"]


def test_a_gpu_that_is_no_longer_listed_is_missed() -> None:
    """After a start of the agent one GPU is not there while the others answer; when it is back, all is well."""
    on = Stage(LostGpuDetector(SETTINGS))
    for gpu in ("GPU-0", "GPU-1"):
        on.set("gpu_lost", 0, gpu=gpu)
    on.step(5)
    on.drop("gpu_lost", gpu="GPU-1")
    assert on.kinds(55) == []
    [event] = on.step(10)
    assert (event.subject.gpu, event.state) == ("GPU-1", "raised")
    assert on.kinds(100) == []
    on.set("gpu_lost", 0, gpu="GPU-1")
    assert on.kinds(65) == ["gpu_lost cleared"]


def test_a_gpu_that_is_missed_for_long_is_forgotten() -> None:
    """Hardware that was taken out is not lost for ever."""
    on = Stage(LostGpuDetector(HealthSettings(gpu_missing_seconds=120)))
    for gpu in ("GPU-0", "GPU-1"):
        on.set("gpu_lost", 0, gpu=gpu)
    on.step(2)
    on.drop("gpu_lost", gpu="GPU-1")
    assert on.kinds(130) == ["gpu_lost raised", "gpu_lost cleared"]


def test_gpus_that_all_vanish_are_a_matter_of_the_driver() -> None:
    """Where none answers, none is called lost; a host that is removed has no lost GPUs."""
    on = Stage(LostGpuDetector(SETTINGS))
    on.host("b")
    on.set("gpu_lost", 0, gpu="GPU-0")
    on.step(2)
    on.drop("gpu_lost", gpu="GPU-0")
    assert on.kinds(300) == []
    on.set("gpu_lost", 1, gpu="GPU-0")
    assert on.kinds() == ["gpu_lost raised"]
    on.mute.add("a")
    on.fleet.remove("a")
    assert on.kinds() == ["gpu_lost cleared"]


def links(on: Stage, gpu: str, active: float, of: float = 12) -> None:
    on.set("gpu_nvlink_links", of, gpu=gpu)
    on.set("gpu_nvlink_active_links", active, gpu=gpu)


def test_a_link_that_goes_down_is_told_and_wiring_by_design_is_not() -> None:
    """12 possible links of which 4 are wired, or none, are no fault; 3 of 4 are."""
    on = Stage(NvlinkDetector(SETTINGS))
    for gpu in ("GPU-0", "GPU-1"):
        links(on, gpu, 4)
    links(on, "GPU-2", 0)
    assert on.kinds(5) == []
    links(on, "GPU-1", 3)
    [event] = on.step()
    assert (event.subject.gpu, event.evidence["links_down"]) == ("GPU-1", 1)
    links(on, "GPU-1", 4)
    assert on.kinds(65) == ["nvlink_down cleared"]


def test_a_link_that_was_down_from_the_start_is_seen_beside_its_neighbours() -> None:
    """A GPU with fewer links than its neighbours is told though nobody saw it with more."""
    on = Stage(NvlinkDetector(SETTINGS))
    links(on, "GPU-0", 12)
    links(on, "GPU-1", 11)
    assert [event.subject.gpu for event in on.step()] == ["GPU-1"]


def test_links_that_recover_again_and_again_are_noisy() -> None:
    """Recoveries within ten minutes count, old ones do not; a few replays are normal."""
    on = Stage(NvlinkDetector(SETTINGS))
    links(on, "GPU-0", 12)
    on.set("gpu_nvlink_errors_total", 40, gpu="GPU-0", kind="recovery")
    on.set("gpu_nvlink_errors_total", 0, gpu="GPU-0", kind="replay")
    assert on.kinds(5) == []
    on.set("gpu_nvlink_errors_total", 300, gpu="GPU-0", kind="replay")
    assert on.kinds(5) == []
    on.set("gpu_nvlink_errors_total", 41, gpu="GPU-0", kind="recovery")
    assert on.kinds(2) == ["nvlink_down raised"]
    assert on.kinds(720) == ["nvlink_down cleared"]


def pcie(on: Stage, generation: float, width: float, busy: float) -> None:
    for name, value in {
        "gpu_pcie_generation": generation,
        "gpu_pcie_generation_max": 4,
        "gpu_pcie_width_lanes": width,
        "gpu_pcie_width_max_lanes": 16,
        "gpu_performance_state": 8 if busy == 0 else 0,
        "gpu_utilization_ratio": busy,
    }.items():
        on.set(name, value, gpu="GPU-0")


def test_a_slow_pcie_link_counts_only_under_load() -> None:
    """Generation 1 while idle is sleep; under load it is a fault, which stands while the GPU idles."""
    on = Stage(PcieDetector(SETTINGS))
    pcie(on, 1, 16, 0)
    assert on.kinds(60) == []
    pcie(on, 4, 16, 0.9)
    assert on.kinds(60) == []
    pcie(on, 4, 8, 0.9)
    assert on.kinds(25) == []
    [event] = on.step(10)
    assert (event.kind.name, event.evidence["rate_ratio"]) == ("pcie_degraded", 0.5)
    pcie(on, 1, 16, 0)
    assert on.kinds(120) == []
    pcie(on, 4, 16, 0.9)
    assert on.kinds(80) == ["pcie_degraded cleared"]


def test_the_power_brake_is_seen_by_its_time() -> None:
    """Flashes between two samples count by the cumulative time; a single one is nothing; the flag alone is enough."""
    on = Stage(PowerBrakeDetector())
    on.set("gpu_throttle_active", 0, gpu="GPU-0", reason="hw_power_brake")
    on.set("gpu_throttle_seconds_total", 5, gpu="GPU-0", reason="hw_power_brake")
    assert on.kinds(5) == []
    on.set("gpu_throttle_seconds_total", 5.1, gpu="GPU-0", reason="hw_power_brake")
    assert on.kinds(20) == []
    for second in range(10):
        on.set("gpu_throttle_seconds_total", 5.1 + second * 0.5, gpu="GPU-0", reason="hw_power_brake")
        told = on.kinds()
    assert told in (["power_brake raised"], [])
    assert [active.kind.name for active in on.diagnosis.conditions.active()] == ["power_brake"]
    assert on.kinds(90) == ["power_brake cleared"]
    on.set("gpu_throttle_active", 1, gpu="GPU-0", reason="hw_power_brake")
    assert on.kinds(8) == ["power_brake raised"]


@pytest.mark.parametrize(
    ("detector", "metric", "labels"),
    [
        (EccDetector(), "gpu_ecc_uncorrected_errors_total", {}),
        (RowRemapDetector(), "gpu_row_remap_failed", {}),
        (LostGpuDetector(SETTINGS), "gpu_lost", {}),
        (PowerBrakeDetector(), "gpu_throttle_active", {"reason": "hw_power_brake"}),
    ],
)
def test_a_host_that_falls_silent_keeps_its_faults_and_one_that_goes_loses_them(
    detector: Detector, metric: str, labels: dict[str, str]
) -> None:
    """UnavailableReading heals nothing; removal ends everything."""
    on = Stage(detector)
    on.host("b")
    on.set(metric, 1, gpu="GPU-0", **labels)
    assert len(on.kinds(8)) == 1
    on.mute.add("a")
    assert on.kinds(200) == []
    on.fleet.remove("a")
    assert [kind.split()[1] for kind in on.kinds()] == ["cleared"]


def test_nothing_is_said_of_what_is_unknown() -> None:
    """A GPU that tells none of the metrics has no fault."""
    detectors: list[Detector] = [
        EccDetector(),
        RowRemapDetector(),
        LostGpuDetector(SETTINGS),
        NvlinkDetector(SETTINGS),
        PcieDetector(SETTINGS),
        PowerBrakeDetector(),
    ]
    on = Stage(*detectors)
    on.set("gpu_power_watts", 100, gpu="GPU-0")
    assert on.step(70) == []
    assert np.isnan(on.view.gpu("gpu_lost")).all()


def test_a_newcomer_without_gpus_moves_nobody_s_gpus() -> None:
    """A host that stands before the others in the order: every GPU still belongs to its host."""
    on = Stage(LostGpuDetector(SETTINGS))
    on.set("gpu_lost", 0, host="b", gpu="GPU-0")
    on.step(2)
    on.host("a")
    on.step()
    assert on.view.gpus.hosts.tolist() == [on.view.hosts.places[Subject("b")]] == [1]
    on.mute.add("a")
    on.step(10)
    assert on.view.gpu("gpu_lost").tolist() == [0]


def test_a_host_whose_only_gpu_is_missed_can_be_removed() -> None:
    """Its GPUs are those of the others before and after: the detector still notices."""
    on = Stage(LostGpuDetector(SETTINGS))
    on.set("gpu_lost", 0, host="a", gpu="GPU-0")
    on.set("gpu_lost", 0, host="z", gpu="GPU-1")
    on.step(2)
    on.drop("gpu_lost", host="z")
    on.step(3)
    on.mute.add("z")
    on.fleet.remove("z")
    assert on.kinds(100) == []


def test_gpus_whose_driver_has_no_such_flag_are_missed_too() -> None:
    """Of other makers only the list tells."""
    on = Stage(LostGpuDetector(SETTINGS))
    for gpu in ("GPU-0", "GPU-1"):
        on.set("gpu_power_watts", 100, gpu=gpu)
    on.step(2)
    on.drop("gpu_power_watts", gpu="GPU-1")
    assert on.kinds(70) == ["gpu_lost raised"]
