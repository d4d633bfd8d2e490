"""The options --emit and --for: write the configuration files of training frameworks, and print what they lack."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flyball.command.errors import WrongArgument
from flyball.command.output import write_new

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flyball_planner.emit.emitted_run import EmittedRun


class Framework(StrEnum):
    """The frameworks whose files can be written; `all` is every one of them."""

    ALL = "all"
    TRANSFORMERS = "transformers"
    ACCELERATE = "accelerate"
    DEEPSPEED = "deepspeed"
    TORCHTITAN = "torchtitan"
    LIGHTNING = "lightning"
    TORCHRUN = "torchrun"


EmitOption = Annotated[
    Path | None,
    typer.Option("--emit", metavar="FOLDER", help="Write configuration files for training frameworks."),
]
ForOption = Annotated[
    list[Framework] | None,
    typer.Option("--for", help="Only the files of this framework; may be repeated.  [default: all]"),
]


def check_frameworks(emit: Path | None, frameworks: "list[Framework] | None") -> None:
    """Raise an error for --for without --emit, before any work is done."""
    if frameworks and emit is None:
        raise WrongArgument(f"--for {frameworks[0].value} needs --emit FOLDER, the folder to write to")


def write_emitted(runs: "Mapping[Path, EmittedRun]", frameworks: "list[Framework] | None") -> None:
    """Write the files of each run to its folder; what a framework cannot express goes to the standard error."""
    from flyball_planner.emit.frameworks import EMITTERS, emit, texts

    wanted = set(frameworks or (Framework.ALL,))
    names = [name for name in EMITTERS if Framework.ALL in wanted or Framework(name) in wanted]
    emitted = {folder: emit(run, names) for folder, run in runs.items()}
    files = {folder / name: text for folder, run in runs.items() for name, text in texts(run, emitted[folder]).items()}
    write_new(files, "--emit")
    notes = {note: None for emissions in emitted.values() for each in emissions for note in each.notes}
    for note in notes:
        typer.echo(f"Note: {note}.", err=True)
