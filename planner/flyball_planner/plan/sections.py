"""What a plan tells of its data and of the measured runs that it was narrowed by."""

from collections.abc import Iterator
from math import ceil

from flyball_planner.calibration.learned import Lesson
from flyball_planner.plan.judge import Judged
from flyball_planner.plan.plan import CalibrationSection, LessonSection, LoadingSection, Rate, Recommendation
from flyball_planner.plan.roofline import WAITING
from flyball_planner.timing.loading import LOADER, STORAGE, Loaded, Loading
from flyball_reports.figures import duration, figure, percent, plural

WORTH_WAITING = 0.03  # of a step, that one waits for data; less is not told
RESERVE = 1.1  # beyond what is needed, so that an uneven sample does not stop a step


def loading_section(judged: Judged) -> LoadingSection | None:
    """What is needed and what arrives."""
    loaded = judged.loaded
    if loaded is None:
        return None
    wait = _waiting(judged)
    return LoadingSection(
        needed_samples_per_second=loaded.samples / judged.computed.middle,
        delivered_samples_per_second=min(loaded.rates.values()),
        bound_by=loaded.bound_by,
        stages=tuple(Rate(name, rate) for name, rate in loaded.rates.items()),
        overlapped=loaded.overlaps,
        wait_seconds=wait,
        wait_percent=100 * wait / judged.step.middle,
        workers=loaded.workers,
    )


def calibration_section(judged: Judged) -> CalibrationSection | None:
    """What the measured runs changed."""
    learned = judged.known.learned
    if learned.kind is None:
        return None
    return CalibrationSection(
        source=learned.source,
        kind=str(learned.kind),
        step=_lesson(learned.steps),
        memory=_lesson(learned.memory),
        refused=learned.refused,
        others=tuple(map(str, learned.others)),
    )


def on_loading(judged: Judged) -> Iterator[Recommendation]:
    """What would keep the devices from waiting for data."""
    loaded, loading = judged.loaded, judged.known.loading
    if loaded is None or loading is None or _waiting(judged) < WORTH_WAITING * judged.step.middle:
        return
    bound = loaded.bound_by if loaded.overlaps else "the training process, which loads them itself"
    waits = f"a step waits {duration(_waiting(judged))} for its data, bound by {bound}"
    needed = RESERVE * loaded.samples / judged.computed.middle
    yield Recommendation(_change(judged, loaded, loading, needed), waits, f"estimated: a step of {_better(judged)}")


def _change(judged: Judged, loaded: Loaded, loading: Loading, needed: float) -> str:
    devices = min(judged.machine.devices, judged.machine.devices_a_node)
    if loaded.bound_by == STORAGE:
        megabytes = figure(needed * loading.bytes_a_sample / 1e6)
        return f"Keep the data where a node reads {megabytes} MB/s: in memory, or on more disks"
    if loaded.bound_by == LOADER:
        return f"Let the loader of a node deliver {figure(needed)} samples a second"
    workers = ceil(needed * loading.core_seconds_a_sample / devices)
    cores = judged.machine.host_cores
    if cores and workers * devices > cores:
        asked = f"{workers * devices} busy cores a node, and the host has {cores}"
        return f"Prepare samples once beforehand, or on the devices: this pace asks for {asked}"
    return f"Start {plural(workers, 'loading worker')} a device"


def _better(judged: Judged) -> str:
    saved = 1 - judged.computed.middle / judged.step.middle
    return f"{duration(judged.computed.middle)} instead of {duration(judged.step.middle)}, {percent(saved)} less"


def _waiting(judged: Judged) -> float:
    return judged.parts.get(WAITING, 0.0)


def _lesson(lesson: Lesson | None) -> LessonSection | None:
    if lesson is None:
        return None
    return LessonSection(lesson.runs, lesson.factor, 100 * lesson.width_before, 100 * lesson.width_after)
