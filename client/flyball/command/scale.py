"""`flyball scale -- COMMAND`: run a command with growing sizes and predict the time of larger ones."""

from typing import TYPE_CHECKING, Annotated

import typer
from msgspec import to_builtins

from flyball.command.errors import CommandError, WrongArgument
from flyball.command.executors import DaskOption, executors, note_unused
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
    from collections.abc import Sequence

    from flyball_planner.scaling.fitting import ScalingFit
    from flyball_planner.sweep.runner import SweepProgress
    from flyball_reports.section import Chart

EXAMPLES = ("flyball scale --sizes 100,1000,10000 -- python train.py --rows {samples}",)


def scale(
    command: Annotated[
        list[str],
        typer.Argument(
            metavar="COMMAND…", help="{samples} is replaced by the size, which is also in the variable FLYBALL_SAMPLES."
        ),
    ],
    sizes: Annotated[
        str, typer.Option(metavar="NUMBERS", help="Sizes to run, separated by commas.")
    ] = "100,1000,10000,50000",
    targets: Annotated[str, typer.Option(metavar="NUMBERS", help="Sizes to predict.")] = "100000000,1000000000",
    repeats: Annotated[int, typer.Option(metavar="NUMBER", min=1, help="Runs of each size.")] = 3,
    budget: Annotated[
        float,
        typer.Option(metavar="SECONDS", min=1, callback=finite, help="Start no larger size after this time."),
    ] = 3600.0,
    journal: JournalOption = None,
    dask: DaskOption = "",
    format_: ResultFormatOption = None,
    output: OutputOption = None,
) -> None:
    """Measure how the time of a command grows with its size, and predict larger sizes with an interval."""
    from flyball_planner.scaling.fitting import FEWEST_SIZES, fit
    from flyball_planner.scaling.measurement import measure_sizes
    from flyball_planner.sweep.commands import Command
    from flyball_planner.sweep.journal import WrongJournal
    from flyball_reports.errors import InputError

    report_format = format_of(format_, output)
    measured_sizes, target_sizes = numbers("--sizes", sizes), numbers("--targets", targets)
    if len(set(measured_sizes)) < FEWEST_SIZES:
        raise WrongArgument(f"--sizes {sizes}: at least {FEWEST_SIZES} different sizes are needed")
    note_unused(command, ["samples"])
    try:
        with executors(dask, at_once=1) as open_executor:
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
    except WrongJournal as error:
        raise WrongArgument(f"--journal: {error}") from None
    except InputError as error:
        raise CommandError(str(error)) from None
    write_result(result_of(found, target_sizes), report_format, output)


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


def result_of(found: "ScalingFit", targets: "Sequence[int]") -> CommandResult:
    """Return the law of growth with its probability, and the forecasts."""
    from flyball_reports.figures import duration, percent, spread
    from flyball_reports.section import ReportTable, Section

    laws = sorted(found.probabilities.items(), key=lambda each: -each[1])
    probabilities = tuple((name, percent(share)) for name, share in laws)
    measured = tuple((f"{point.size:,.0f}", duration(point.seconds)) for point in found.points)
    forecasts = tuple(
        (f"{size:,}", spread(seconds, duration)) for size, seconds in zip(targets, found.curve(targets), strict=True)
    )
    sections = (
        Section("", (f"Time grows as {found.law}.",)),
        Section("Forecast", tables=(ReportTable(forecasts, ("Size", "Time"), (0, 1)),)),
        Section("Laws", tables=(ReportTable(probabilities, ("Law", "Probability"), (1,)),)),
        Section("Measured", tables=(ReportTable(measured, ("Size", "Time"), (0, 1)),)),
        Section("Caveats", points=found.caveats, tone="warning"),
    )
    document = {
        "law": found.law,
        "probabilities": found.probabilities,
        "forecast": [
            {"size": size, "seconds": to_builtins(each)}
            for size, each in zip(targets, found.curve(targets), strict=True)
        ],
        "measured": [to_builtins(point) for point in found.points],
        "caveats": list(found.caveats),
    }
    shown = tuple(each for each in sections if each.text or each.tables or each.points)
    return CommandResult("Scaling", shown, document, lambda: {"Forecast": _chart(found, targets)})


def _chart(found: "ScalingFit", targets: "Sequence[int]") -> "Chart":
    import numpy as np

    from flyball_reports.line_chart import ChartLine, lines_chart

    smallest = min(point.size for point in found.points)
    sizes = [float(each) for each in np.geomspace(smallest, max(*targets, found.largest), 60)]
    curve = found.curve(sizes)
    line = ChartLine(
        found.law,
        tuple((size, each.middle) for size, each in zip(sizes, curve, strict=True)),
        tuple((size, each.low, each.high) for size, each in zip(sizes, curve, strict=True)),
        tuple((point.size, point.seconds) for point in found.points),
    )
    return lines_chart(
        "growth", "Measured times, and the forecast for larger sizes (90 % interval).", ("size", "seconds"), [line]
    )
