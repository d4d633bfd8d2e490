"""The report's sections on data loading and calibration."""

from flyball_planner.plan.plan import CorrectionSection, Plan
from flyball_planner.timing.loading import PREPARING
from flyball_reports.figures import duration, figure, percent, plural, spread
from flyball_reports.section import ReportTable, Section


def loading(plan: Plan) -> Section:
    """Return the section on data loading."""
    data = plan.loading
    if data is None:
        return Section("Data loading")
    way = "during the computation" if data.overlapped else "by the training process itself, between the steps"
    waits = f"A step waits {duration(data.wait_seconds)} for its data, {percent(data.wait_percent / 100)} of its time."
    verdict = waits if data.wait_seconds else "No step waits for its data."
    rows = [("Needed", f"{figure(data.needed_samples_per_second)} samples per second and node")]
    for stage in data.stages:
        share = stage.samples_per_second / data.needed_samples_per_second
        limit = ", the limit" if stage.name == data.bound_by else ""
        rows.append((_stage(stage.name, data.workers), f"{figure(stage.samples_per_second)}, {share:.3g} ×{limit}"))
    tone = "warning" if data.wait_seconds else "plain"
    return Section("Data loading", (f"{verdict} Samples are loaded {way}.",), (ReportTable(tuple(rows)),), tone=tone)


def _stage(name: str, workers: float) -> str:
    named = f"{name} by {plural(workers, 'worker')}" if name == PREPARING else name
    return named[:1].upper() + named[1:]


def calibration(plan: Plan) -> Section:
    """Return the section on calibration."""
    section = plan.calibration
    if section is None:
        return Section("Calibration")
    text = [f"Estimates of {section.kind} are calibrated with {section.source}."]
    if section.step is None and section.memory is None:
        text = [f"No run in {section.source} is of {section.kind}, so the estimates are unchanged."]
    if section.others:
        text.append(f"Runs of {', '.join(section.others)} do not apply here.")
    if section.refused:
        text.append(f"{plural(section.refused, 'run')} could not be used; `flyball calibrate` lists the reasons.")
    corrections = (("Step", section.step), ("Memory", section.memory))
    rows = tuple(_correction(name, each) for name, each in corrections if each is not None)
    heads = ("", "Runs", "Factor", "Interval before", "Interval after")
    return Section("Calibration", tuple(text), (ReportTable(rows, heads, (1, 2, 3, 4)),) if rows else ())


def _correction(name: str, each: CorrectionSection) -> tuple[str, ...]:
    return (
        name,
        f"{each.runs}",
        spread(each.factor, lambda ratio: f"{ratio:.3g}"),
        wide(each.width_before_percent / 100),
        wide(each.width_after_percent / 100),
    )


def wide(share: float) -> str:
    """Format the width of an interval as the distance of its ends from the middle."""
    return f"± {percent(share / 2)}"
