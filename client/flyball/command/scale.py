"""`flyball scale -- COMMAND`: runs a command at growing sizes, finds the law of its growth, foretells larger ones."""

from typing import TYPE_CHECKING, Annotated

import typer
from msgspec import to_builtins

from flyball.command.errors import CommandError
from flyball.command.executors import DaskOption, executors
from flyball.command.limits import finite
from flyball.command.output import CommandResult, FormOption, JournalOption, OutputOption, form_of, tell
from flyball.command.specifications import WRONG

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flyball_planner.scaling.fitting import ScalingFit
    from flyball_planner.sweep.running import Progress
    from flyball_reports.section import Chart

EXAMPLE = "Example: flyball scale --sizes 100,1000,10000 -- python train.py --rows {samples}"


def scale(
    command: Annotated[list[str], typer.Argument(metavar="COMMAND…", help="{samples} becomes the size.")],
    sizes: Annotated[str, typer.Option(help="Sizes to run, with commas between.")] = "100,1000,10000,50000",
    targets: Annotated[str, typer.Option(help="Sizes to foretell.")] = "100000000,1000000000",
    repeats: Annotated[int, typer.Option(min=1, help="Runs of each size.")] = 3,
    budget: Annotated[
        float, typer.Option(min=1, callback=finite, help="Seconds after which no larger size is begun.")
    ] = 3600.0,
    journal: JournalOption = None,
    dask: DaskOption = "",
    format_: FormOption = None,
    output: OutputOption = None,
) -> None:
    """Measure how a command's time grows, and say with an interval what far larger sizes will take."""
    from flyball_planner.scaling.fitting import FEWEST_SIZES, fit
    from flyball_planner.scaling.running import measure_sizes
    from flyball_planner.sweep.commands import Command
    from flyball_reports.errors import InputError

    form = form_of(format_, output)
    asked, wanted = numbers("--sizes", sizes), numbers("--targets", targets)
    if len(set(asked)) < FEWEST_SIZES:
        raise CommandError(f"--sizes {sizes}: a law needs at least {FEWEST_SIZES} different sizes", WRONG)
    try:
        with executors(dask, at_once=1) as open_executor:
            points = measure_sizes(
                Command(tuple(command)),
                asked,
                repeats=repeats,
                budget_seconds=budget,
                open_executor=open_executor,
                journal=journal,
                on_progress=_tell_progress,
            )
        found = fit(points)
    except InputError as error:
        raise CommandError(str(error)) from None
    tell(told(found, wanted), form, output)


def numbers(option: str, words: str) -> "list[int]":
    """Whole numbers with commas between; 10k and 1e6 are numbers too."""
    from flyball_reports.specification.entry import Entry
    from flyball_reports.specification.value_readers import Unfit, whole

    try:
        return [whole().read(Entry(word.strip(), 0)) for word in words.split(",")]
    except Unfit as fault:
        raise CommandError(f"{option} {words}: expected {fault}, with commas between", WRONG) from None


def _tell_progress(progress: "Progress") -> None:
    from flyball_reports.figures import duration

    latest = progress.latest
    typer.echo(f"{latest.configuration}: {latest.failure or duration(latest.seconds)}", err=True)


def told(found: "ScalingFit", targets: "Sequence[int]") -> CommandResult:
    """The law, how sure it is, and the forecasts."""
    from flyball_reports.figures import duration, percent, spread
    from flyball_reports.section import Section, Table

    laws = sorted(found.probabilities.items(), key=lambda each: -each[1])
    measured = tuple((f"{point.size:,.0f}", duration(point.seconds)) for point in found.points)
    forecasts = tuple(
        (f"{size:,}", spread(seconds, duration)) for size, seconds in zip(targets, found.curve(targets), strict=True)
    )
    sections = (
        Section("", (f"Time grows as {found.law}.",)),
        Section("Forecast", tables=(Table(forecasts, ("Size", "Time"), (0, 1)),)),
        Section(
            "Laws", tables=(Table(tuple((name, percent(share)) for name, share in laws), ("Law", "Probability"), (1,)),)
        ),
        Section("Measured", tables=(Table(measured, ("Size", "Time"), (0, 1)),)),
        Section("Doubts", points=found.doubts, tone="warning"),
    )
    document = {
        "law": found.law,
        "probabilities": found.probabilities,
        "forecast": [
            {"size": size, "seconds": to_builtins(each)}
            for size, each in zip(targets, found.curve(targets), strict=True)
        ],
        "measured": [to_builtins(point) for point in found.points],
        "doubts": list(found.doubts),
    }
    shown = tuple(each for each in sections if each.text or each.tables or each.points)
    return CommandResult("Scaling", shown, document, lambda: {"Forecast": _chart(found, targets)})


def _chart(found: "ScalingFit", targets: "Sequence[int]") -> "Chart":
    import numpy as np

    from flyball_reports.line_chart import Line, lines_chart

    smallest = min(point.size for point in found.points)
    sizes = [float(each) for each in np.geomspace(smallest, max(*targets, found.largest), 60)]
    curve = found.curve(sizes)
    line = Line(
        found.law,
        tuple((size, each.middle) for size, each in zip(sizes, curve, strict=True)),
        tuple((size, each.low, each.high) for size, each in zip(sizes, curve, strict=True)),
        tuple((point.size, point.seconds) for point in found.points),
    )
    return lines_chart("growth", "Measured times, and what larger sizes will take (90 %).", ("size", "seconds"), [line])
