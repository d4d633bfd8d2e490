"""`flyball sweep -- COMMAND`: run combinations of parameters and rank them by speed."""

import math
import re
from typing import TYPE_CHECKING, Annotated, Any

import typer
from msgspec import to_builtins

from flyball.command.errors import CommandError, WrongArgument
from flyball.command.executors import DaskOption, executors, note_unused, refuse_unused
from flyball.command.limits import finite
from flyball.command.output import (
    CommandResult,
    JournalOption,
    OutputOption,
    ResultFormatOption,
    format_of,
    write_result,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from flyball_planner.sweep.comparison import FailedValue, SpeedComparison
    from flyball_planner.sweep.configurations import SweepConfiguration, Value
    from flyball_planner.sweep.runner import SweepProgress
    from flyball_planner.sweep.trial import TrialOutcome
    from flyball_reports.section import Chart, ReportTable, Section

EXAMPLES = ("flyball sweep --try depth=3-10 --try chunk_size=5-25 -- python learn.py {depth} {chunk_size} {samples}",)
SHOWN = 20
_UNREPEATED = "Each configuration ran once, so small differences may be noise; --repeats 3 measures it."
_CHECK = "If the values should matter, check that the command uses them, and give it more work (--samples)."
RANGE = re.compile(r"\s*(-?\d+)\s*-\s*(-?\d+)\s*")


def sweep(
    command: Annotated[
        list[str],
        typer.Argument(
            metavar="COMMAND…",
            help="{NAME} is replaced by the value of NAME, which is also in the variable FLYBALL_NAME.",
        ),
    ],
    tried: Annotated[
        list[str] | None,
        typer.Option("--try", metavar="NAME=VALUES", help="Values: 3-10 or 1,2,4; may be repeated."),
    ] = None,
    samples: Annotated[int, typer.Option(metavar="NUMBER", min=1, help="Samples of each run.")] = 100,
    repeats: Annotated[int, typer.Option(metavar="NUMBER", min=1, help="Runs of each configuration.")] = 1,
    at_once: Annotated[
        int, typer.Option(metavar="NUMBER", min=1, help="Parallel runs; they slow each other down.")
    ] = 1,
    timeout: Annotated[
        float | None, typer.Option(metavar="SECONDS", min=0.1, callback=finite, help="Time limit of one run.")
    ] = None,
    journal: JournalOption = None,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Run failed configurations again.")] = False,
    dask: DaskOption = "",
    format_: ResultFormatOption = None,
    output: OutputOption = None,
) -> None:
    """Run your command with every combination of the given values, and rank them by speed.

    The speed is that of the samples, or of the "patterns" that the last line of the output counts in JSON.
    """
    from flyball_planner.sweep.commands import Command
    from flyball_planner.sweep.configurations import shuffled
    from flyball_planner.sweep.journal import WrongJournal
    from flyball_planner.sweep.runner import run_sweep
    from flyball_reports.errors import InputError

    report_format, progress = format_of(format_, output), _ProgressLines()
    configurations = _grid(tried or [], samples)
    if retry_failed and journal is None:
        raise WrongArgument("--retry-failed needs --journal, which records the failed configurations")
    refuse_unused(command, _varied(configurations))
    note_unused(command, [words.partition("=")[0] for words in tried or ()])
    try:
        with executors(dask, at_once) as open_executor:
            outcomes = run_sweep(
                Command(tuple(command), timeout),
                shuffled(configurations),
                open_executor=open_executor,
                at_once=at_once,
                repeats=repeats,
                journal=journal,
                retry_failed=retry_failed,
                on_progress=progress,
            )
    except WrongJournal as error:
        raise WrongArgument(f"--journal: {error}") from None
    except InputError as error:
        raise CommandError(str(error)) from None
    if progress.written < len(outcomes):
        typer.echo(f"{len(outcomes) - progress.written} of {len(outcomes)} were already in {journal}", err=True)
    if all(each.failure for each in outcomes):
        count = f"all {len(outcomes)} configurations" if len(outcomes) > 1 else "the only configuration"
        raise CommandError(f"{count} failed; {outcomes[0].configuration}: {outcomes[0].failure}")
    by_configuration = {each.configuration: each for each in outcomes}
    write_result(result_of([by_configuration[each] for each in configurations]), report_format, output)


def _grid(tried: "Sequence[str]", samples: int) -> "tuple[SweepConfiguration, ...]":
    from flyball_planner.sweep.configurations import grid, usual_grid
    from flyball_reports.errors import InputError

    if not tried:
        return usual_grid(samples=samples)
    named = dict(map(values_of, tried))
    if len(named) < len(tried):
        raise WrongArgument(f"--try {' --try '.join(tried)}: a name is given twice; put all its values into one option")
    try:
        return grid({**named, "samples": named.get("samples", [samples])})
    except InputError as error:
        raise WrongArgument(f"--try {' --try '.join(tried)}: {error}") from None


def _varied(configurations: "Sequence[SweepConfiguration]") -> "list[str]":
    """Return the names that have more than one value."""
    first = configurations[0]
    return [name for name in first if any(each[name] != first[name] for each in configurations)]


def values_of(words: str) -> "tuple[str, Sequence[Value]]":
    """Parse a name and its values: `depth=3-10` or `rate=0.1,0.2`."""
    name, equals, listed = words.partition("=")
    values = [word.strip() for word in listed.split(",")]
    if not equals or not name.isidentifier() or not all(values):
        raise WrongArgument(f"--try {words}: expected NAME=VALUES, as in depth=3-10 or batch=16,32")
    ends = RANGE.fullmatch(listed)
    if not ends:
        return name, [_value(word) for word in values]
    first, last = int(ends[1]), int(ends[2])
    if first > last:
        raise WrongArgument(f"--try {words}: the first value is larger than the last; use {name}={last}-{first}")
    return name, range(first, last + 1)


def _value(word: str) -> "Value":
    for kind in (int, float):
        try:
            value = kind(word)
        except ValueError:
            continue
        return value if math.isfinite(value) else word  # JSON cannot represent NaN and infinity
    return word


class _ProgressLines:
    """Writes one line for each finished configuration to the standard error."""

    def __init__(self) -> None:
        self.written = 0

    def __call__(self, progress: "SweepProgress") -> None:
        from flyball_reports.figures import duration, figure

        self.written += 1
        latest = progress.latest
        speed = f"{figure(latest.patterns_per_second)} {_unit([latest])}/s"
        result = f"failed: {latest.failure}" if latest.failure else speed
        left = f", {duration(progress.remaining_seconds)} left" if progress.remaining_seconds else ""
        typer.echo(f"{progress.done}/{progress.total}{left}  {latest.configuration}  {result}", err=True)


def _unit(outcomes: "Sequence[TrialOutcome]") -> str:
    """Return what the speed counts: patterns if a command has counted some, else its samples."""
    counted = any(each.patterns != each.configuration.get("samples") for each in outcomes if not each.failure)
    return "patterns" if counted else "samples"


def result_of(outcomes: "Sequence[TrialOutcome]") -> CommandResult:
    """Return the ranking, or that the speeds do not differ; the effect of each parameter, and the failures."""
    from flyball_planner.sweep.comparison import compare_outcomes, failed_values
    from flyball_planner.sweep.ranking import effects, ranked

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
    return CommandResult(f"{len(outcomes)} configurations", sections, document)


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
    return ReportTable(rows, (first, "Configuration", f"{_unit(outcomes).capitalize()}/s", "Time"), (0, 2, 3))


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
