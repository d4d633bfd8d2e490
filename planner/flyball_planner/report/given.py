"""What a plan's report says of the data's way to the devices, and of the measured runs that narrowed it."""

from flyball_planner.plan.plan import LessonSection, Plan
from flyball_planner.timing.loading import PREPARING
from flyball_reports.figures import duration, figure, percent, plural, spread
from flyball_reports.section import Section, Table


def loading(plan: Plan) -> Section:
    """How the data arrive, and whether a step waits for them."""
    what = plan.loading
    if what is None:
        return Section("Data loading")
    kept = "beside the computation" if what.overlapped else "by the training process itself, between the steps"
    waits = f"A step waits {duration(what.wait_seconds)} for its data, {percent(what.wait_percent / 100)} of its time."
    verdict = waits if what.wait_seconds else "No step waits for its data."
    rows = [("Needed", f"{figure(what.needed_samples_per_second)} samples a second and node")]
    for stage in what.stages:
        share = stage.samples_per_second / what.needed_samples_per_second
        bound = ", which bounds it" if stage.name == what.bound_by else ""
        rows.append((_stage(stage.name, what.workers), f"{figure(stage.samples_per_second)}, {share:.3g} ×{bound}"))
    tone = "warning" if what.wait_seconds else "plain"
    return Section("Data loading", (f"{verdict} Samples are loaded {kept}.",), (Table(tuple(rows)),), tone=tone)


def _stage(name: str, workers: float) -> str:
    named = f"{name} by {plural(workers, 'worker')}" if name == PREPARING else name
    return named[:1].upper() + named[1:]


def calibration(plan: Plan) -> Section:
    """By what the intervals were narrowed, and how far."""
    what = plan.calibration
    if what is None:
        return Section("Calibration")
    text = [f"Estimates of {what.kind} are calibrated by {what.source}."]
    if what.step is None and what.memory is None:
        text = [f"No run in {what.source} is of {what.kind}: the estimates are as without it."]
    if what.others:
        text.append(f"Runs of {', '.join(what.others)} teach nothing here.")
    if what.refused:
        text.append(f"{plural(what.refused, 'run')} could not be used; flyball calibrate says why.")
    lessons = (("Step", what.step), ("Memory", what.memory))
    rows = tuple(_lesson(name, each) for name, each in lessons if each is not None)
    heads = ("", "Runs", "Now over before", "Interval before", "Interval now")
    return Section("Calibration", tuple(text), (Table(rows, heads, (1, 2, 3, 4)),) if rows else ())


def _lesson(name: str, each: LessonSection) -> tuple[str, ...]:
    return (
        name,
        f"{each.runs}",
        spread(each.factor, lambda ratio: f"{ratio:.3g}"),
        wide(each.width_before_percent / 100),
        wide(each.width_after_percent / 100),
    )


def wide(share: float) -> str:
    """The width of an interval, as what lies on each side of its middle."""
    return f"± {percent(share / 2)}"
