"""`flyball scale -- COMMAND`: run a command with growing sizes and predict the time of larger ones."""

from typing import TYPE_CHECKING, Annotated

import typer
from msgspec import to_builtins

from flyball.command.errors import WrongArgument
from flyball.command.executors import DaskOption, executors, note_unused, refuse_unused, reported_errors
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

    from flyball_planner.interval import Interval
    from flyball_planner.scaling.fitting import ScalingFit
    from flyball_planner.scaling.verdict import ScalingVerdict
    from flyball_planner.sweep.runner import SweepProgress
    from flyball_reports.section import Chart, Section

EXAMPLES = ("flyball scale --sizes 100,1000,10000 -- python train.py --rows {samples}",)


SizedCommand = Annotated[
    list[str],
    typer.Argument(
        metavar="COMMAND…", help="{samples} is replaced by the size, which is also in the variable FLYBALL_SAMPLES."
    ),
]
SizesOption = Annotated[str, typer.Option(metavar="NUMBERS", help="Sizes to run, separated by commas.")]
TargetsOption = Annotated[str, typer.Option(metavar="NUMBERS", help="Sizes to predict.")]
SizeRepeatsOption = Annotated[int, typer.Option(metavar="NUMBER", min=1, help="Runs of each size.")]
BudgetOption = Annotated[
    float, typer.Option(metavar="SECONDS", min=1, callback=finite, help="Start no larger size after this time.")
]


def scale(
    command: SizedCommand,
    sizes: SizesOption = "100,1000,10000,50000",
    targets: TargetsOption = "100000000,1000000000",
    repeats: SizeRepeatsOption = 3,
    budget: BudgetOption = 3600.0,
    journal: JournalOption = None,
    dask: DaskOption = "",
    format_: ResultFormatOption = None,
    output: OutputOption = None,
) -> None:
    """Measure how the time of a command grows with its size, and predict larger sizes with an interval."""
    from flyball_planner.scaling.fitting import fit
    from flyball_planner.scaling.measurement import measure_sizes
    from flyball_planner.sweep.commands import Command

    report_format = format_of(format_, output)
    measured_sizes, target_sizes = _different("--sizes", sizes), numbers("--targets", targets)
    refuse_unused(command, ["samples"])
    note_unused(command, ["samples"])
    with reported_errors(), executors(dask, at_once=1) as open_executor:
        points = measure_sizes(
            Command(tuple(command)),
            measured_sizes,
            repeats=repeats,
            budget_seconds=budget,
            open_executor=open_executor,
            journal=journal,
            on_progress=_write_progress,
        )
        found = fit(points)
    write_result(result_of(found, target_sizes, command), report_format, output)


def _different(option: str, words: str) -> "list[int]":
    """Parse sizes; enough of them must differ."""
    from flyball_planner.scaling.fitting import FEWEST_SIZES

    found = numbers(option, words)
    if len(set(found)) < FEWEST_SIZES:
        raise WrongArgument(f"{option} {words}: at least {FEWEST_SIZES} different sizes are needed")
    return found


def numbers(option: str, words: str) -> "list[int]":
    """Parse integers that are separated by commas, such as 1000, 10k or 1e6."""
    from flyball_reports.specification.source_value import SourceValue
    from flyball_reports.specification.value_readers import Unfit, integer

    try:
        return [integer().read(SourceValue(word.strip(), 0)) for word in words.split(",")]
    except Unfit as fault:
        raise WrongArgument(f"{option} {words}: expected {fault}, separated by commas") from None


def _write_progress(progress: "SweepProgress") -> None:
    from flyball_reports.figures import duration

    latest = progress.latest
    typer.echo(f"{latest.configuration}: {latest.failure or duration(latest.seconds)}", err=True)


def result_of(found: "ScalingFit", targets: "Sequence[int]", command: "Sequence[str]" = ()) -> CommandResult:
    """Return the law of growth with its forecasts, or why there is none, the range of the laws that fit, and what to
    run."""
    from flyball_planner.scaling.verdict import forecasts_by_law, verdict_of

    verdict = verdict_of(found)
    by_law = forecasts_by_law(found, verdict.laws, targets)
    clear = verdict.law is not None
    shown = (verdict.law,) if verdict.law else verdict.laws
    sections = (
        *(_clear(found, targets) if clear else _unclear(found, verdict, by_law, targets, command)),
        *_measurements(found),
    )
    document = {
        "law": verdict.law,
        "probabilities": found.probabilities,
        "forecast": [
            {
                "size": size,
                "seconds": to_builtins(found.seconds(size)) if clear else None,
                "range_seconds": _range(by_law, row),
                "by_law": {law: to_builtins(each[row]) for law, each in by_law.items()},
            }
            for row, size in enumerate(targets)
        ],
        "measured": [to_builtins(point) for point in found.points],
        "caveats": list(verdict.obstacles),
        "next": None if clear else {"sizes": list(verdict.sizes), "repeats": verdict.repeats},
    }
    return CommandResult("Scaling", sections, document, lambda: {"Measured": _chart(found, shown, targets)})


def _clear(found: "ScalingFit", targets: "Sequence[int]") -> "tuple[Section, ...]":
    from flyball_reports.figures import duration, spread
    from flyball_reports.section import ReportTable, Section

    rows = tuple(
        (f"{size:,}", spread(seconds, duration)) for size, seconds in zip(targets, found.curve(targets), strict=True)
    )
    return (
        Section("", (f"Time grows as {found.law}.",)),
        Section("Forecast", tables=(ReportTable(rows, ("Size", "Time"), (0, 1)),)),
    )


ENDLESS = 1000.0
"""A range that is wider than this factor has a lower end only: its upper end is that of the worst law."""


def _unclear(
    found: "ScalingFit",
    verdict: "ScalingVerdict",
    by_law: "Mapping[str, Sequence[Interval]]",
    targets: "Sequence[int]",
    command: "Sequence[str]",
) -> "tuple[Section, ...]":
    from flyball_reports.figures import duration, spread
    from flyball_reports.section import ReportTable, Section

    def words(low: float, high: float) -> str:
        return f"{duration(low)} or more" if high > ENDLESS * low else f"{duration(low)} … {duration(high)}"

    largest = f"{found.largest:,.0f}"
    ranges = tuple((f"{size:,}", words(**_range(by_law, row))) for row, size in enumerate(targets))
    laws = tuple((law, *(spread(each, duration) for each in forecasts)) for law, forecasts in by_law.items())
    heads = ("Law", *(f"{size:,}" for size in targets))
    return (
        Section("", (f"These sizes do not show how the time grows beyond {largest}, so there is no single forecast.",)),
        Section("Why", points=verdict.obstacles, tone="warning"),
        Section("Possible range", tables=(ReportTable(ranges, ("Size", "Time"), (0, 1)),)),
        Section("Forecast if one of these laws held", tables=(ReportTable(laws, heads, tuple(range(1, len(heads)))),)),
        Section("What to run", points=(_next_command(verdict, command),)),
    )


def _range(by_law: "Mapping[str, Sequence[Interval]]", row: int) -> dict[str, float]:
    """Return the lowest and the highest end over all laws that fit."""
    ends = [forecasts[row] for forecasts in by_law.values()]
    return {"low": min(each.low for each in ends), "high": max(each.high for each in ends)}


def _next_command(verdict: "ScalingVerdict", command: "Sequence[str]") -> str:
    import shlex

    sizes = ",".join(map(str, verdict.sizes))
    program = shlex.join(command) or "COMMAND"
    return f"flyball scale --sizes {sizes} --repeats {verdict.repeats} -- {program}"


def _measurements(found: "ScalingFit") -> "tuple[Section, ...]":
    from flyball_reports.figures import duration, percent
    from flyball_reports.section import ReportTable, Section

    laws = sorted(found.probabilities.items(), key=lambda each: -each[1])
    probabilities = tuple((name, percent(share)) for name, share in laws)
    measured = tuple((f"{point.size:,.0f}", duration(point.seconds)) for point in found.points)
    return (
        Section("Laws", tables=(ReportTable(probabilities, ("Law", "Probability"), (1,)),)),
        Section("Measured", tables=(ReportTable(measured, ("Size", "Time"), (0, 1)),)),
    )


def _chart(found: "ScalingFit", laws: "Sequence[str]", targets: "Sequence[int]") -> "Chart":
    import numpy as np

    from flyball_planner.scaling.verdict import forecasts_by_law
    from flyball_reports.line_chart import ChartLine, lines_chart

    smallest = min(point.size for point in found.points)
    sizes = [float(each) for each in np.geomspace(smallest, max(*targets, found.largest), 60)]
    dots = tuple((point.size, point.seconds) for point in found.points)
    lines = [
        ChartLine(
            law,
            tuple((size, each.middle) for size, each in zip(sizes, curve, strict=True)),
            tuple((size, each.low, each.high) for size, each in zip(sizes, curve, strict=True)),
            dots,
        )
        for law, curve in forecasts_by_law(found, laws, sizes).items()
    ]
    caption = "Measured times, and the forecast of each law that fits them (90 % intervals)."
    return lines_chart("growth", caption, ("size", "seconds"), lines)
