"""`--models-file FILE.py`: a Python file that registers your own models and devices.

It runs only if it is named on the command line. A specification cannot name one, because it may come from anyone.
"""

import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flyball.command.errors import WrongArgument
from flyball.command.specifications import read_text

if TYPE_CHECKING:
    from types import CodeType

ModelsFileOption = Annotated[
    Path | None,
    typer.Option(
        "--models-file",
        metavar="FILE",
        help="Run this Python file first. It registers your own models and devices.",
    ),
]
MODULE = "flyball_models_file"


def use_models(path: Path | None) -> None:
    """Run a file of models. Its failure is an error with the line in the file."""
    if path is None:
        return
    code = _compiled(path)
    before = _registered()
    sys.path.insert(0, str(path.resolve().parent))  # the file may import its neighbours, as a script does
    try:
        with redirect_stdout(sys.stderr):  # the standard output belongs to the report
            exec(code, {"__name__": MODULE, "__file__": str(path)})  # noqa: S102  the user named the file for this
    except Exception as error:  # noqa: BLE001  anything may fail in a user's file
        raise WrongArgument(_failure(path, error)) from None
    except SystemExit:
        raise WrongArgument(f"{path} ended the program with sys.exit(); remove this call") from None
    finally:
        sys.path.pop(0)
    if _registered() == before:
        raise WrongArgument(
            f"{path} registered no model and no device; put @register_model(NAME) above a function, or call "
            "register_hardware(NAME, {…})"
        )


def _compiled(path: Path) -> "CodeType":
    text = read_text(path, "docs/planning.md shows one")
    try:
        return compile(text, str(path), "exec")
    except SyntaxError as error:
        raise WrongArgument(f"{path}:{error.lineno or 0}: not valid Python: {error.msg}") from None
    except ValueError as error:  # null bytes
        raise WrongArgument(f"{path}: not valid Python: {error}") from None


def _registered() -> tuple[int, int, tuple[int, ...]]:
    """Return the registered models and devices, to compare before and after."""
    from flyball_planner.catalogue.devices import REGISTRY
    from flyball_planner.models.families import REGISTERED

    every = (*REGISTRY.added.values(), *REGISTERED.values())
    return len(REGISTRY.added), len(REGISTERED), tuple(map(id, every))


def _failure(path: Path, error: Exception) -> str:
    """Return the error with the last line of the file that led to it."""
    import traceback

    from flyball_reports.errors import InputError

    lines = [each.lineno for each in traceback.extract_tb(error.__traceback__) if each.filename == str(path)]
    place = f"{path}:{lines[-1]}" if lines else str(path)
    return f"{place}: {error}" if isinstance(error, InputError) else f"{place}: {type(error).__name__}: {error}"
