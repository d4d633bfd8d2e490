"""Reports on sweeps: the ranking or that the speeds do not differ, the effect of each parameter, and the failures."""

from typing import TYPE_CHECKING, Any

from msgspec import to_builtins

from flyball.command.output import CommandResult

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from flyball_planner.sweep.comparison import FailedValue, SpeedComparison
    from flyball_planner.sweep.configurations import Value
    from flyball_planner.sweep.trial import TrialOutcome
    from flyball_reports.section import Chart, ReportTable, Section

SHOWN = 20
_UNREPEATED = "Each configuration ran once, so small differences may be noise; --repeats 3 measures it."
_CHECK = "If the values should matter, check that the command uses them, and give it more work (--samples)."


def unit_of(outcomes: "Sequence[TrialOutcome]") -> str:
    """Return what the speed counts: patterns if a command has counted some, else its samples."""
    counted = any(each.patterns != each.configuration.get("samples") for each in outcomes if not each.failure)
    return "patterns" if counted else "samples"


def result_of(outcomes: "Sequence[TrialOutcome]") -> CommandResult:
    """Return the ranking, or that the speeds do not differ; the effect of each parameter, and the failures."""
    from flyball_planner.sweep.comparison import compare_outcomes, failed_values
    from flyball_planner.sweep.ranking import effects, ranked
    from flyball_reports.figures import plural

    compared, best, failed = compare_outcomes(outcomes, programs=True), ranked(outcomes), failed_values(outcomes)
    sections = [
        *(_ranking(best, outcomes, compared) if compared.differs else _no_difference(best, compared)),
        *_failures(outcomes, failed),
    ]
    document = {
        "ranking": [_document(each) for each in best] if compared.differs else [],
        "measured": [_document(each) for each in best],
        "comparison": to_builtins(compared),
        "effects": [
            {"name": each.name, "ratio": each.ratio, "within_noise": each.name in compared.idle_names}
            for each in effects(outcomes)
        ],
        "failed": [_document(each) for each in outcomes if each.failure],
        "failed_values": [to_builtins(each) for each in failed],
    }
    return CommandResult(plural(len(outcomes), "configuration"), sections, document)


def _ranking(
    best: "Sequence[TrialOutcome]", outcomes: "Sequence[TrialOutcome]", compared: "SpeedComparison"
) -> "list[Section]":
    from flyball_planner.sweep.ranking import effects
    from flyball_reports.section import ReportTable, Section

    notes = (*_short(compared), *([_UNREPEATED] if not compared.repeated else [])) if len(best) > 1 else ()
    sections = [Section("Ranking", notes, (_measured(best, "Rank"),))]
    rows = tuple(
        (each.name, f"× {each.ratio:.3g}", "none beyond the noise")
        if each.name in compared.idle_names
        else (each.name, f"× {each.ratio:.3g}", _best_value(each.patterns_per_second))
        for each in effects(outcomes)
    )
    if rows:
        table = ReportTable(rows, ("Name", "Best over worst", "Best"), (1,))
        sections.append(Section("Effects", tables=(table,), charts=_charts(outcomes)))
    return sections


def _no_difference(best: "Sequence[TrialOutcome]", compared: "SpeedComparison") -> "list[Section]":
    """Return the measured speeds without a ranking, because equal runs differ as much."""
    from flyball_reports.figures import percent
    from flyball_reports.section import Section

    noise = "equal runs differ by about" if compared.repeated else "runs that are not repeated usually differ by about"
    spread, equal = percent(compared.spread), percent(compared.noise)
    text = f"No configuration is faster than another: their speeds differ by at most {spread}, and {noise} {equal}."
    advice = _CHECK if compared.repeated else _UNREPEATED
    return [Section("No difference", (text, *_short(compared), advice), (_measured(best, "Run"),), tone="warning")]


def _short(compared: "SpeedComparison") -> "tuple[str, ...]":
    """Return a warning if the runs are too short to measure more than the start of the command."""
    from flyball_reports.figures import duration

    if compared.short_seconds is None:
        return ()
    typical = duration(compared.short_seconds)
    return (f"The runs take only {typical}, mostly the start of the command; give them more work (--samples).",)


def _measured(outcomes: "Sequence[TrialOutcome]", first: str) -> "ReportTable":
    from flyball_reports.figures import duration, figure
    from flyball_reports.section import ReportTable

    rows = tuple(
        (f"{place}", str(each.configuration), figure(each.patterns_per_second), duration(each.seconds))
        for place, each in enumerate(outcomes[:SHOWN], 1)
    )
    return ReportTable(rows, (first, "Configuration", f"{unit_of(outcomes).capitalize()}/s", "Time"), (0, 2, 3))


def _failures(outcomes: "Sequence[TrialOutcome]", values: "Sequence[FailedValue]") -> "list[Section]":
    """Return the failures; a value that always fails is one point."""
    from flyball_reports.section import Section

    always = [
        f"{each.name}={each.value} fails in all {each.combinations} combinations: {each.failure}" for each in values
    ]
    single = [
        f"{each.configuration}: {each.failure}"
        for each in outcomes
        if each.failure and not any(each.configuration.get(value.name) == value.value for value in values)
    ]
    points = (*always, *single)
    return [Section("Failed", points=points, tone="warning")] if points else []


def _charts(outcomes: "Sequence[TrialOutcome]") -> "tuple[Chart, ...]":
    """Return a chart of the median rate for each parameter with numeric values."""
    from flyball_planner.sweep.ranking import effects
    from flyball_reports.line_chart import ChartLine, lines_chart

    drawn = []
    for effect in effects(outcomes):
        rates = sorted((value, rate) for value, rate in effect.patterns_per_second.items() if _is_drawn(value, rate))
        points = tuple((float(value), rate) for value, rate in rates)
        if len(points) > 1:
            caption = f"Patterns per second over {effect.name}: the median over all other parameters."
            line = ChartLine(effect.name, points, dots=points)
            drawn.append(lines_chart(effect.name, caption, (effect.name, "patterns per second"), [line]))
    return tuple(drawn)


def _is_drawn(value: "Value", rate: float) -> bool:
    return isinstance(value, int | float) and value > 0 and rate > 0


def _best_value(rates: "Mapping[Value, float]") -> str:
    return str(max(rates, key=lambda value: rates[value]))


def _document(outcome: "TrialOutcome") -> dict[str, Any]:
    document = to_builtins(outcome)
    return {
        **document,
        "configuration": dict(outcome.configuration),
        "patterns_per_second": outcome.patterns_per_second,
    }
