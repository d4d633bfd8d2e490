"""`flyball examples`: specifications to start from."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from flyball.command.errors import WrongArgument
from flyball.command.output import FormatOption, OutputFormat, write_new

EXAMPLES = ("flyball examples", "flyball examples transformer > run.yaml", "flyball examples --write .")


def examples(
    name: Annotated[str, typer.Argument(metavar="[NAME]", help="Print this example.")] = "",
    write: Annotated[
        Path | None, typer.Option("--write", "-w", metavar="FOLDER", help="Write one example or all to this folder.")
    ] = None,
    format_: FormatOption = OutputFormat.TABLE,
) -> None:
    """List, print or write example specifications."""
    from flyball_daemon.suggestion import suggestion
    from flyball_planner.specification.example_files import example_names, example_text

    if name and name not in example_names():
        listing = f"; the examples are {', '.join(example_names())}"
        raise WrongArgument(f"there is no example {name!r}{suggestion(name, example_names()) or listing}")
    names = [name] if name else example_names()
    if write is not None:
        return _write(write, names)
    if format_ is OutputFormat.JSON:
        return typer.echo(_json(names))
    if name:
        return typer.echo(example_text(name).rstrip("\n"))
    for each in example_names():
        typer.echo(f"{each:20} {example_text(each).splitlines()[0].removeprefix('# ')}")
    return typer.echo("\nPlan one: flyball examples transformer | flyball plan -")


def _json(names: Sequence[str]) -> str:
    import json

    from flyball_planner.specification.example_files import example_text

    return json.dumps([{"name": each, "text": example_text(each)} for each in names], indent=2)


def _write(folder: Path, names: Sequence[str]) -> None:
    from flyball_planner.specification.example_files import example_text

    write_new({folder / f"{name}.yaml": example_text(name) for name in names})
