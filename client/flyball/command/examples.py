"""`flyball examples`: specifications to start from."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from flyball.command.errors import CommandError, WrongArgument
from flyball.command.output import FormatOption, OutputFormat, write_file
from flyball.command.specifications import make_folder

EXAMPLES = ("flyball examples", "flyball examples transformer > run.yaml", "flyball examples --list")
FOLDER = Path("examples")


def examples(
    name: Annotated[str, typer.Argument(metavar="[NAME]", help="Print this example.")] = "",
    write: Annotated[
        Path | None,
        typer.Option("--write", "-w", metavar="FOLDER", help="Write one example or all to this folder."),
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="List the examples and write nothing.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite files that were changed.")] = False,
    format_: FormatOption = OutputFormat.TABLE,
) -> None:
    """Write the example specifications to the folder examples, or print or list them."""
    from flyball_daemon.suggestion import suggestion
    from flyball_planner.specification.example_files import example_names, example_text

    if name and name not in example_names():
        listing = f"; the examples are {', '.join(example_names())}"
        raise WrongArgument(f"there is no example {name!r}{suggestion(name, example_names()) or listing}")
    names = [name] if name else example_names()
    if write is None and format_ is OutputFormat.JSON:
        return typer.echo(_json(names))
    if list_:
        return _list(names)
    if write is None and name:
        return typer.echo(example_text(name).rstrip("\n"))
    return _write(write or FOLDER, names, force=force)


def _list(names: Sequence[str]) -> None:
    from flyball_planner.specification.example_files import example_text

    for each in names:
        typer.echo(f"{each:20} {example_text(each).splitlines()[0].removeprefix('# ')}")
    typer.echo("\nPlan one: flyball examples transformer | flyball plan -")


def _json(names: Sequence[str]) -> str:
    import json

    from flyball_planner.specification.example_files import example_text

    return json.dumps([{"name": each, "text": example_text(each)} for each in names], indent=2)


def _write(folder: Path, names: Sequence[str], *, force: bool) -> None:
    """Write the examples. A file that was changed is kept, unless it may be overwritten."""
    from flyball_planner.specification.example_files import example_text

    make_folder(folder)
    changed = []
    for name in names:
        path, text = folder / f"{name}.yaml", example_text(name)
        found = _text_of(path)
        if found == text:
            typer.echo(f"{path} exists already.", err=True)
        elif found is None or force:
            write_file(path, text)
        else:
            changed.append(str(path))
    if changed:
        raise CommandError(f"{', '.join(changed)}: changed since it was written, not overwritten; add --force to do so")
    typer.echo(f"Plan one: flyball plan {folder / names[-1]}.yaml")


def _text_of(path: Path) -> str | None:
    """Return the contents of a file; None if there is none."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return None
    except OSError as error:
        from flyball_reports.errors import read_fault

        raise CommandError(read_fault(path, error)) from None
