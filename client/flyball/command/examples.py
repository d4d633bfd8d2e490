"""`flyball examples`: specifications to begin with."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from flyball.command.errors import CommandError
from flyball.command.output import PlainForm, PlainFormOption, write_file
from flyball.command.specifications import WRONG, make_folder

EXAMPLE = "Examples: flyball examples; flyball examples transformer > run.yaml; flyball examples --write ."


def examples(
    name: Annotated[str, typer.Argument(metavar="[NAME]", help="Print this one.")] = "",
    write: Annotated[Path | None, typer.Option("--write", "-w", help="Write all of them into this folder.")] = None,
    format_: PlainFormOption = PlainForm.TABLE,
) -> None:
    """List, print or write example specifications."""
    from flyball_planner.specification.bundled import example_names, example_text

    if write is not None:
        return _write(write)
    if name:
        if name not in example_names():
            raise CommandError(f"there is no example {name!r}; there are {', '.join(example_names())}", WRONG)
        return typer.echo(_json([name]) if format_ is PlainForm.JSON else example_text(name).rstrip("\n"))
    if format_ is PlainForm.JSON:
        return typer.echo(_json(example_names()))
    for each in example_names():
        typer.echo(f"{each:20} {example_text(each).splitlines()[0].removeprefix('# ')}")
    return typer.echo("\nPlan one: flyball examples transformer | flyball plan -")


def _json(names: Sequence[str]) -> str:
    import json

    from flyball_planner.specification.bundled import example_text

    return json.dumps([{"name": each, "text": example_text(each)} for each in names], indent=2)


def _write(folder: Path) -> None:
    from flyball_planner.specification.bundled import example_names, example_text

    make_folder(folder)
    for name in example_names():
        path = folder / f"{name}.yaml"
        if path.exists():
            raise CommandError(f"{path} is there already, and is left as it is; name another folder with --write")
        write_file(path, example_text(name))
