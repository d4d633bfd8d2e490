"""`flyball sweep -- COMMAND`: run combinations of parameters and rank them by speed."""

import math
import re
from typing import TYPE_CHECKING, Annotated

import typer

from flyball.command.errors import CommandError, WrongArgument
from flyball.command.executors import DaskOption, executors, note_unused, refuse_unused, reported_errors
from flyball.command.limits import finite
from flyball.command.output import JournalOption, OutputOption, ResultFormatOption, format_of, write_result
from flyball.command.sweep_report import result_of, unit_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flyball_planner.sweep.configurations import SweepConfiguration, Value
    from flyball_planner.sweep.runner import SweepProgress
    from flyball_planner.sweep.trial import TrialOutcome

EXAMPLES = ("flyball sweep --try depth=3-10 --try chunk_size=5-25 -- python learn.py {depth} {chunk_size} {samples}",)
RANGE = re.compile(r"\s*(-?\d+)\s*-\s*(-?\d+)\s*")


VariedCommand = Annotated[
    list[str],
    typer.Argument(
        metavar="COMMAND…",
        help="{NAME} is replaced by the value of NAME, which is also in the variable FLYBALL_NAME.",
    ),
]
TryOption = Annotated[
    list[str] | None,
    typer.Option("--try", metavar="NAME=VALUES", help="Values: 3-10 or 1,2,4; may be repeated."),
]
RunSamplesOption = Annotated[int, typer.Option(metavar="NUMBER", min=1, help="Samples of each run.")]
RunRepeatsOption = Annotated[int, typer.Option(metavar="NUMBER", min=1, help="Runs of each configuration.")]
AtOnceOption = Annotated[int, typer.Option(metavar="NUMBER", min=1, help="Parallel runs; they slow each other down.")]
TimeoutOption = Annotated[
    float | None, typer.Option(metavar="SECONDS", min=0.1, callback=finite, help="Time limit of one run.")
]
RetryOption = Annotated[bool, typer.Option("--retry-failed", help="Run failed configurations again.")]


def sweep(
    command: VariedCommand,
    tried: TryOption = None,
    samples: RunSamplesOption = 100,
    repeats: RunRepeatsOption = 1,
    at_once: AtOnceOption = 1,
    timeout: TimeoutOption = None,
    journal: JournalOption = None,
    retry_failed: RetryOption = False,
    dask: DaskOption = "",
    format_: ResultFormatOption = None,
    output: OutputOption = None,
) -> None:
    """Run your command with every combination of the given values, and rank them by speed.

    The speed is that of the samples, or of the "patterns" that the last line of the output counts in JSON.
    """
    from flyball_planner.sweep.commands import Command
    from flyball_planner.sweep.configurations import shuffled
    from flyball_planner.sweep.runner import run_sweep

    report_format, progress = format_of(format_, output), _ProgressLines()
    configurations = _grid(tried or [], samples)
    if retry_failed and journal is None:
        raise WrongArgument("--retry-failed needs --journal, which records the failed configurations")
    refuse_unused(command, _varied(configurations))
    note_unused(command, [words.partition("=")[0] for words in tried or ()])
    with reported_errors(), executors(dask, at_once) as open_executor:
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
    if progress.written < len(outcomes):
        typer.echo(f"{len(outcomes) - progress.written} of {len(outcomes)} were already in {journal}", err=True)
    _refuse_only_failures(outcomes)
    by_configuration = {each.configuration: each for each in outcomes}
    write_result(result_of([by_configuration[each] for each in configurations]), report_format, output)


def _refuse_only_failures(outcomes: "Sequence[TrialOutcome]") -> None:
    """Raise an error if no configuration could be measured."""
    if all(each.failure for each in outcomes):
        count = f"all {len(outcomes)} configurations" if len(outcomes) > 1 else "the only configuration"
        raise CommandError(f"{count} failed; {outcomes[0].configuration}: {outcomes[0].failure}")


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
        speed = f"{figure(latest.patterns_per_second)} {unit_of([latest])}/s"
        result = f"failed: {latest.failure}" if latest.failure else speed
        left = f", {duration(progress.remaining_seconds)} left" if progress.remaining_seconds else ""
        typer.echo(f"{progress.done}/{progress.total}{left}  {latest.configuration}  {result}", err=True)
