"""What a plan tells of its data and of the measured runs that it was narrowed by."""

from collections.abc import Iterator
from math import ceil

from msgspec.structs import replace

from flyball_planner.calibration.learned import Lesson
from flyball_planner.plan.judge import WAITING, Judged
from flyball_planner.plan.plan import CalibrationSection, LessonSection, LoadingSection, Rate, Recommendation
from flyball_planner.report.words import duration, figure
from flyball_planner.timing.loading import PREPARING, STORAGE, load

WORTH_WAITING = 0.03  # of a step, that one waits for data; less is not told
RESERVE = 1.1  # beyond what is needed, so that an uneven sample does not stop a step


def loading_section(judged: Judged) -> LoadingSection | None:
    """What is needed and what arrives."""
    loaded = judged.loaded
    if loaded is None:
        return None
    computed = _computed(judged)
    wait = loaded.wait(computed)
    return LoadingSection(
        needed_samples_per_second=loaded.samples / computed,
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
    loaded = judged.loaded
    if loaded is None or loaded.wait(_computed(judged)) < WORTH_WAITING * judged.step.middle:
        return
    computed, samples = _computed(judged), loaded.samples
    waits = f"a step waits {duration(loaded.wait(computed))} for its data, bound by {loaded.bound_by}"
    if not loaded.overlaps:
        yield Recommendation("Load in worker processes, ahead of the step", waits, _estimated(judged, 1))
        return
    needed = RESERVE * samples / computed
    if loaded.bound_by == PREPARING and judged.known.loading:
        devices = min(judged.machine.devices, judged.machine.devices_a_node)
        workers = ceil(needed * judged.known.loading.core_seconds_a_sample / devices)
        yield Recommendation(f"Start {workers} loading processes a device", waits, _estimated(judged, workers))
    elif loaded.bound_by == STORAGE and judged.known.loading:
        read = needed * judged.known.loading.bytes_a_sample
        change = f"Keep the data where a node reads {figure(read / 1e6)} MB/s, in memory or on more disks"
        yield Recommendation(change, waits, f"a step of {duration(computed)} instead of {duration(judged.step.middle)}")
    else:
        yield Recommendation(f"Let the loader of a node deliver {figure(needed)} samples a second", waits, "")


def _estimated(judged: Judged, workers: int) -> str:
    """The step with so many workers, as far as the host's cores and its storage go."""
    loading = judged.known.loading
    more = (
        load(replace(loading, workers=workers), judged.training.global_batch, judged.layout, judged.machine)
        if (loading)
        else None
    )
    computed = _computed(judged)
    after = computed + (more.wait(computed) if more else 0.0)
    return f"estimated: a step of {duration(after)} instead of {duration(judged.step.middle)}"


def _computed(judged: Judged) -> float:
    """Seconds of a step whose data are there."""
    return judged.step.middle - judged.parts.get(WAITING, 0.0)


def _lesson(lesson: Lesson | None) -> LessonSection | None:
    if lesson is None:
        return None
    return LessonSection(lesson.runs, lesson.factor, 100 * lesson.width_before, 100 * lesson.width_after)
