"""Makes the answer about one run from its steps, its processes, its conditions and the points of its charts."""

from collections.abc import Iterable, Sequence

from flyball_collector.fleet.run_steps import RankSteps, StepFigures
from flyball_collector.fleet.run_trends import RunTrend
from flyball_collector.fleet.sections import is_input
from flyball_collector.http.collector_parts import CollectorParts
from flyball_collector.http.diagnosis_answers import DiagnosisAnswer
from flyball_collector.http.run_answers import (
    RunDetails,
    RunLevelAnswer,
    RunPaceAnswer,
    RunProgressAnswer,
    RunSectionAnswer,
    RunServiceAnswer,
    RunTrendAnswer,
)
from flyball_collector.http.run_lookup import FoundRun
from flyball_collector.http.run_ranks import rank_answers
from flyball_collector.http.run_summary import RunSummary
from flyball_collector.times import moment

_DIGITS = 6
_LEAST_REST = 0.01  # of a step; less is the time between two marks
_NO_FIGURES = StepFigures()


def run_details(
    parts: CollectorParts, found: FoundRun, summary: RunSummary, diagnosis: DiagnosisAnswer, most_ranks: int
) -> RunDetails:
    """Return everything about a run, with at most so many of its ranks."""
    steps, trend = parts.fleet.run_steps(found.name, parts.clock()), parts.fleet.trends.of(found.name)
    recent, overall = (steps.recent, steps.overall) if steps else (_NO_FIGURES, _NO_FIGURES)
    of_ranks = steps.ranks if steps else ()
    ranks, total = rank_answers(parts, found, of_ranks, most_ranks)
    slowest = _slowest(of_ranks)
    return RunDetails(
        run=summary,
        time=moment(parts.clock()),
        reports_steps=bool(of_ranks) or trend is not None,
        attempt=steps.attempt if steps else None,
        progress=_progress(summary, overall),
        recent=_pace(recent),
        overall=_pace(overall),
        slowest_rank=slowest[0] if slowest else None,
        slowest_step_seconds=_rounded(slowest[1]) if slowest else None,
        loss=_loss(of_ranks, trend),
        bad_losses=max((each.bad_losses for each in of_ranks), default=0),
        sections=_sections(recent),
        services=_services(recent, overall),
        levels=_levels(recent, overall),
        allocated_peak_bytes=_largest(each.allocated_peak_bytes for each in of_ranks),
        reserved_peak_bytes=_largest(each.reserved_peak_bytes for each in of_ranks),
        dropped=sum(each.dropped for each in of_ranks),
        ranks=ranks,
        ranks_total=total,
        diagnosis=diagnosis,
        trend=_trend(trend),
    )


def _progress(summary: RunSummary, overall: StepFigures) -> RunProgressAnswer:
    """Return the progress, by steps if their total is known, else by samples.

    Samples are the step times the mean of a step, because the collector may not have seen the first steps.
    """
    step = summary.step
    known = step is not None and overall.samples is not None and overall.steps
    samples = step * overall.samples / overall.steps if known else None  # type: ignore[operator]  # they are known
    total_steps, total_samples = (_label(summary, name) for name in ("total_steps", "total_samples"))
    ratio = None
    if total_steps and step is not None:
        ratio = step / total_steps
    elif total_samples and samples is not None:
        ratio = samples / total_samples
    return RunProgressAnswer(
        step=step,
        total_steps=total_steps,
        samples=_rounded(samples),
        total_samples=total_samples,
        ratio=None if ratio is None else round(min(1.0, ratio), 4),
        remaining_seconds=_rounded(summary.remaining_seconds, 1),
        remaining_low_seconds=_rounded(summary.remaining_low_seconds, 1),
        remaining_high_seconds=_rounded(summary.remaining_high_seconds, 1),
    )


def _label(summary: RunSummary, name: str) -> int | None:
    text = summary.labels.get(name, "")
    return int(text) if text.isascii() and text.isdecimal() and int(text) > 0 else None


def _pace(figures: StepFigures) -> RunPaceAnswer:
    return RunPaceAnswer(
        step_seconds=_rounded(figures.step_seconds),
        steps_per_second=_rounded(figures.steps_per_second),
        tokens_per_second=_rounded(figures.tokens_per_second, 3),
        samples_per_second=_rounded(figures.samples_per_second, 3),
        data_wait_ratio=_rounded(figures.data_wait_share, 4),
        device_ratio=_rounded(figures.device_share, 4),
        oom_retries=figures.oom_retries,
        paused_seconds=_rounded(figures.paused_seconds, 3),
        throttled_seconds=_rounded(figures.throttled_seconds, 3),
    )


def _sections(recent: StepFigures) -> list[RunSectionAnswer]:
    """Return the parts of a step, the longest first. The wait for input is one of them unless a section covers it."""
    step, sections = recent.step_seconds, recent.section_seconds
    parts = [(seconds, name, "section") for name, seconds in sections.items()]
    if step and recent.data_wait_share is not None and not any(map(is_input, sections)):
        parts.append((step * recent.data_wait_share, "data wait", "data_wait"))
    parts.sort(key=lambda part: (-part[0], part[1]))
    rest = (step or 0.0) - sum(seconds for seconds, _, _ in parts)
    if parts and step and rest > _LEAST_REST * step:
        parts.append((rest, "rest", "rest"))
    return [
        RunSectionAnswer(name, kind, round(seconds, _DIGITS), round(seconds / step, 4) if step else None)
        for seconds, name, kind in parts
    ]


def _services(recent: StepFigures, overall: StepFigures) -> list[RunServiceAnswer]:
    found = []
    for service, ever in sorted(overall.calls.items(), key=lambda each: (-each[1].seconds, each[0])):
        now = recent.calls.get(service)
        calls = now.count if now else 0.0
        found.append(
            RunServiceAnswer(
                service=service,
                calls=ever.count,
                errors=ever.errors,
                recent_calls=calls,
                recent_errors=now.errors if now else 0.0,
                calls_per_step=_rounded(calls / recent.steps, 3) if recent.steps else None,
                calls_per_sample=_rounded(calls / recent.samples, 3) if recent.samples else None,
                seconds_per_call=_rounded(now.seconds_per_call if now else None),
            )
        )
    return found


def _levels(recent: StepFigures, overall: StepFigures) -> list[RunLevelAnswer]:
    return [
        RunLevelAnswer(
            level=level,
            items=ever.items,
            items_per_second=_rounded(recent.levels[level].items_per_second, 3) if level in recent.levels else None,
            overall_items_per_second=_rounded(ever.items_per_second, 3),
        )
        for level, ever in sorted(overall.levels.items())
    ]


def _slowest(ranks: Sequence[RankSteps]) -> tuple[int, float] | None:
    """Return the rank with the longest steps and their duration, if there are several ranks."""
    timed = [(each.recent.step_seconds, -each.rank) for each in ranks if each.recent.step_seconds is not None]
    if len(timed) < 2:
        return None
    seconds, rank = max(timed)
    return -rank, seconds


def _loss(ranks: Sequence[RankSteps], trend: RunTrend | None) -> float | None:
    """Return the newest loss of the first rank that reports one; of an ended run its last one."""
    if any(each.bad_losses for each in ranks):
        return None
    known = next((each.loss for each in ranks if each.loss is not None), None)
    return known if known is not None or trend is None else trend.newest("loss")


def _trend(trend: RunTrend | None) -> RunTrendAnswer:
    if trend is None:
        return RunTrendAnswer([], [], [], [], [], [])
    names = RunTrendAnswer.__struct_fields__[1:]
    times = [round(time, 1) for time in trend.times.tolist()]
    return RunTrendAnswer(times, *([float(f"{value:.6g}") for value in trend.values[name].tolist()] for name in names))


def _largest(values: Iterable[int | None]) -> int | None:
    return max((value for value in values if value is not None), default=None)


def _rounded(value: float | None, digits: int = _DIGITS) -> float | None:
    return None if value is None else round(value, digits)
