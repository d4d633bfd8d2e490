"""`flyball sweep -- COMMAND`: tries configurations for real and ranks them by what they get done in a second."""

import math
import re
from typing import TYPE_CHECKING, Annotated, Any

import typer
from msgspec import to_builtins

from flyball.command.errors import CommandError
from flyball.command.executors import DaskOption, executors
from flyball.command.limits import finite
from flyball.command.output import CommandResult, FormOption, JournalOption, OutputOption, form_of, tell
from flyball.command.specifications import WRONG

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from flyball_planner.sweep.configurations import Configuration, Value
    from flyball_planner.sweep.running import Progress
    from flyball_planner.sweep.trial import Outcome
    from flyball_reports.section import Chart

EXAMPLE = (
    "Example: flyball sweep --try depth=3-10 --try chunk_size=5-25 -- python learn.py {depth} {chunk_size} {samples}"
)
SHOWN = 20
RANGE = re.compile(r"\s*(-?\d+)\s*-\s*(-?\d+)\s*")


def sweep(
    command: Annotated[list[str], typer.Argument(metavar="COMMAND…", help="{name} becomes the value of a name.")],
    tried: Annotated[list[str] | None, typer.Option("--try", help="NAME=VALUES: 3-10, or 1,2,4.")] = None,
    samples: Annotated[int, typer.Option(min=1, help="Samples of each quick run.")] = 100,
    repeats: Annotated[int, typer.Option(min=1, help="Runs of each configuration.")] = 1,
    at_once: Annotated[int, typer.Option(min=1, help="Configurations that run at once; they disturb each other.")] = 1,
    timeout: Annotated[
        float | None, typer.Option(min=0.1, callback=finite, help="Seconds that one run may take.")
    ] = None,
    journal: JournalOption = None,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Try again what failed before.")] = False,
    dask: DaskOption = "",
    format_: FormOption = None,
    output: OutputOption = None,
) -> None:
    """Try every combination of some values with a command of yours, and rank them."""
    from flyball_planner.sweep.commands import Command
    from flyball_planner.sweep.running import run_sweep
    from flyball_reports.errors import InputError

    form, said = form_of(format_, output), _Progress()
    configurations = _grid(tried or [], samples)
    if retry_failed and journal is None:
        raise CommandError("--retry-failed says nothing without --journal, which tells what failed before", WRONG)
    try:
        with executors(dask, at_once) as open_executor:
            outcomes = run_sweep(
                Command(tuple(command), timeout),
                configurations,
                open_executor=open_executor,
                at_once=at_once,
                repeats=repeats,
                journal=journal,
                retry_failed=retry_failed,
                on_progress=said,
            )
    except InputError as error:
        raise CommandError(str(error)) from None
    if said.told < len(outcomes):
        typer.echo(f"{len(outcomes) - said.told} of {len(outcomes)} were in {journal} already", err=True)
    if all(each.failure for each in outcomes):
        raise CommandError(f"no configuration ran through; the first of {len(outcomes)}: {outcomes[0].failure}")
    tell(told(outcomes), form, output)


def _grid(tried: "Sequence[str]", samples: int) -> "tuple[Configuration, ...]":
    from flyball_planner.sweep.configurations import grid, usual_grid
    from flyball_reports.errors import InputError

    if not tried:
        return usual_grid(samples=samples)
    named = dict(map(values_of, tried))
    if len(named) < len(tried):
        raise CommandError(f"--try {' --try '.join(tried)}: a name stands there twice; give all its values once", WRONG)
    try:
        return grid({**named, "samples": named.get("samples", [samples])})
    except InputError as error:
        raise CommandError(f"--try {' --try '.join(tried)}: {error}", WRONG) from None


def values_of(words: str) -> "tuple[str, Sequence[Value]]":
    """`depth=3-10` or `rate=0.1,0.2`: a name and its values."""
    name, equals, listed = words.partition("=")
    values = [word.strip() for word in listed.split(",")]
    if not equals or not name.isidentifier() or not all(values):
        raise CommandError(f"--try {words}: expected NAME=VALUES, as in depth=3-10 or batch=16,32", WRONG)
    ends = RANGE.fullmatch(listed)
    if not ends:
        return name, [_value(word) for word in values]
    first, last = int(ends[1]), int(ends[2])
    if first > last:
        raise CommandError(f"--try {words}: a range rises, as in {name}={last}-{first}", WRONG)
    return name, range(first, last + 1)


def _value(word: str) -> "Value":
    for kind in (int, float):
        try:
            value = kind(word)
        except ValueError:
            continue
        return value if math.isfinite(value) else word  # what is no number cannot be written down as one
    return word


class _Progress:
    """Says on the standard error what each configuration came to."""

    def __init__(self) -> None:
        self.told = 0

    def __call__(self, progress: "Progress") -> None:
        from flyball_reports.figures import duration

        self.told += 1
        latest = progress.latest
        said = f"failed: {latest.failure}" if latest.failure else f"{latest.patterns_per_second:,.4g} patterns/s"
        left = f", {duration(progress.remaining_seconds)} left" if progress.remaining_seconds else ""
        typer.echo(f"{progress.done}/{progress.total}{left}  {latest.configuration}  {said}", err=True)


def told(outcomes: "Sequence[Outcome]") -> CommandResult:
    """The ranking, what matters how much, and what failed."""
    from flyball_planner.sweep.ranking import effects, ranked
    from flyball_reports.figures import duration
    from flyball_reports.section import Section, Table

    best = ranked(outcomes)
    rows = tuple(
        (f"{place}", str(each.configuration), f"{each.patterns_per_second:,.4g}", duration(each.seconds))
        for place, each in enumerate(best[:SHOWN], 1)
    )
    matters = tuple(
        (each.name, f"× {each.ratio:.3g}", _best_value(each.patterns_per_second)) for each in effects(outcomes)
    )
    failed = tuple(f"{each.configuration}: {each.failure}" for each in outcomes if each.failure)
    sections = [Section("Ranking", tables=(Table(rows, ("", "Configuration", "Patterns/s", "Time"), (0, 2, 3)),))]
    if matters:
        table = Table(matters, ("Name", "Best over worst", "Best"), (1,))
        sections.append(Section("What matters", tables=(table,), charts=_charts(outcomes)))
    if failed:
        sections.append(Section("Failed", points=failed, tone="warning"))
    document = {
        "ranking": [_document(each) for each in best],
        "effects": [{"name": each.name, "ratio": each.ratio} for each in effects(outcomes)],
        "failed": [_document(each) for each in outcomes if each.failure],
    }
    return CommandResult(f"{len(outcomes)} configurations", sections, document)


def _charts(outcomes: "Sequence[Outcome]") -> "tuple[Chart, ...]":
    """The median rate over the values of each name whose values are numbers."""
    from flyball_planner.sweep.ranking import effects
    from flyball_reports.line_chart import Line, lines_chart

    drawn = []
    for effect in effects(outcomes):
        rates = sorted((value, rate) for value, rate in effect.patterns_per_second.items() if _is_drawn(value, rate))
        points = tuple((float(value), rate) for value, rate in rates)
        if len(points) > 1:
            caption = f"Patterns a second over {effect.name}: the median of all that else varied."
            line = Line(effect.name, points, dots=points)
            drawn.append(lines_chart(effect.name, caption, (effect.name, "patterns a second"), [line]))
    return tuple(drawn)


def _is_drawn(value: "Value", rate: float) -> bool:
    return isinstance(value, int | float) and value > 0 and rate > 0


def _best_value(rates: "Mapping[Value, float]") -> str:
    return str(max(rates, key=lambda value: rates[value]))


def _document(outcome: "Outcome") -> dict[str, Any]:
    told_ = to_builtins(outcome)
    return {**told_, "configuration": dict(outcome.configuration), "patterns_per_second": outcome.patterns_per_second}
