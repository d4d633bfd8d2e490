"""`flyball examples`: specifications to begin with."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from flyball.command.errors import CommandError
from flyball.command.output import PlainForm, PlainFormOption, write_new
from flyball.command.specifications import WRONG

EXAMPLE = "Examples: flyball examples; flyball examples transformer > run.yaml; flyball examples --write ."


def examples(
    name: Annotated[str, typer.Argument(metavar="[NAME]", help="Only this one.")] = "",
    write: Annotated[Path | None, typer.Option("--write", "-w", help="Into this folder, one or all.")] = None,
    format_: PlainFormOption = PlainForm.TABLE,
) -> None:
    """List, print or write example specifications."""
    from flyball_planner.specification.bundled import example_names, example_text

    if name and name not in example_names():
        raise CommandError(f"there is no example {name!r}; there are {', '.join(example_names())}", WRONG)
    names = [name] if name else example_names()
    if write is not None:
        return _write(write, names)
    if format_ is PlainForm.JSON:
        return typer.echo(_json(names))
    if name:
        return typer.echo(example_text(name).rstrip("\n"))
    for each in example_names():
        typer.echo(f"{each:20} {example_text(each).splitlines()[0].removeprefix('# ')}")
    return typer.echo("\nPlan one: flyball examples transformer | flyball plan -")


def _json(names: Sequence[str]) -> str:
    import json

    from flyball_planner.specification.bundled import example_text

    return json.dumps([{"name": each, "text": example_text(each)} for each in names], indent=2)


def _write(folder: Path, names: Sequence[str]) -> None:
    from flyball_planner.specification.bundled import example_text

    write_new({folder / f"{name}.yaml": example_text(name) for name in names})
