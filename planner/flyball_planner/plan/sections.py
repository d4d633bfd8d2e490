"""The plan's sections on data loading and calibration, and recommendations for data loading."""

from collections.abc import Iterator
from math import ceil

from flyball_planner.calibration.corrections import Correction
from flyball_planner.plan.judged_layout import JudgedLayout
from flyball_planner.plan.plan import CalibrationSection, CorrectionSection, LoadingSection, PlanRecommendation, Rate
from flyball_planner.plan.roofline import WAITING
from flyball_planner.timing.loading import LOADER, STORAGE, Loading, LoadingTime
from flyball_reports.figures import duration, figure, percent, plural

WORTH_WAITING = 0.03  # share of a step; shorter waits for data are not reported
RESERVE = 1.1  # more than needed, so that uneven samples do not delay a step


def loading_section(judged: JudgedLayout) -> LoadingSection | None:
    """Return the loading section."""
    loaded = judged.loaded
    if loaded is None:
        return None
    wait = _waiting(judged)
    return LoadingSection(
        needed_samples_per_second=loaded.samples / judged.computed.middle,
        delivered_samples_per_second=min(loaded.rates.values()),
        bound_by=loaded.slowest_stage,
        stages=tuple(Rate(name, rate) for name, rate in loaded.rates.items()),
        overlapped=loaded.overlaps,
        wait_seconds=wait,
        wait_percent=100 * wait / judged.step.middle,
        workers=loaded.workers,
    )


def calibration_section(judged: JudgedLayout) -> CalibrationSection | None:
    """Return the calibration section."""
    learned = judged.context.learned
    if learned.kind is None:
        return None
    return CalibrationSection(
        source=learned.source,
        kind=str(learned.kind),
        step=_correction(learned.steps),
        memory=_correction(learned.memory),
        refused=learned.refused,
        others=tuple(map(str, learned.others)),
    )


def on_loading(judged: JudgedLayout) -> Iterator[PlanRecommendation]:
    """Recommend how to avoid waiting for data."""
    loaded, loading = judged.loaded, judged.context.loading
    if loaded is None or loading is None or _waiting(judged) < WORTH_WAITING * judged.step.middle:
        return
    limit = loaded.slowest_stage if loaded.overlaps else "loading in the training process"
    waits = f"a step waits {duration(_waiting(judged))} for its data, limited by {limit}"
    needed = RESERVE * loaded.samples / judged.computed.middle
    yield PlanRecommendation(_change(judged, loaded, loading, needed), waits, f"estimated: a step of {_better(judged)}")


def _change(judged: JudgedLayout, loaded: LoadingTime, loading: Loading, needed: float) -> str:
    devices = min(judged.machine.devices, judged.machine.devices_a_node)
    if loaded.slowest_stage == STORAGE:
        megabytes = figure(needed * loading.bytes_per_sample / 1e6)
        return f"Store the data where each node can read {megabytes} MB/s: in memory or on more disks"
    if loaded.slowest_stage == LOADER:
        return f"Speed up each node's loader to {figure(needed)} samples per second"
    workers = ceil(needed * loading.core_seconds_per_sample / devices)
    cores = judged.machine.host_cores
    if cores and workers * devices > cores:
        needed_cores = f"{workers * devices} busy cores per node, but the host has {cores}"
        return f"Prepare samples in advance or on the devices: this rate needs {needed_cores}"
    return f"Use {plural(workers, 'loading worker')} per device"


def _better(judged: JudgedLayout) -> str:
    saved = 1 - judged.computed.middle / judged.step.middle
    return f"{duration(judged.computed.middle)} instead of {duration(judged.step.middle)}, {percent(saved)} less"


def _waiting(judged: JudgedLayout) -> float:
    return judged.parts.get(WAITING, 0.0)


def _correction(correction: Correction | None) -> CorrectionSection | None:
    if correction is None:
        return None
    return CorrectionSection(
        correction.runs, correction.factor, 100 * correction.width_before, 100 * correction.width_after
    )
