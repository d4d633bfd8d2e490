"""Specification files: found, read, and their faults told so that an editor finds the lines."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flyball.command.errors import CommandError

if TYPE_CHECKING:
    from collections.abc import Callable

    from flyball_planner.calibration.measured import MeasuredRuns
    from flyball_planner.specification.specification import Specification

HardwareFileOption = Annotated[
    Path | None, typer.Option("--hardware-file", help="Devices of your own, in YAML or CSV; they can then be named.")
]
CalibrationOption = Annotated[
    Path | None,
    typer.Option("--calibration", help="Measured runs that narrow the estimates, in place of the specification's."),
]
WRONG = 2
"""The exit status where the user's input is wrong, as with options."""
_MOST_BYTES = 4_000_000


def use_hardware(path: Path | None) -> None:
    """Make the devices of a file known."""
    if path is None:
        return
    from flyball_planner.catalogue.files import load_hardware
    from flyball_planner.errors import PlanError

    try:
        load_hardware(path)
    except PlanError as error:
        raise CommandError(str(error), WRONG) from None


def load(path: Path) -> "Specification":
    """The specification of a file; `-` is the standard input."""
    from flyball_planner.errors import PlanError
    from flyball_planner.specification.read import read_specification

    try:
        return read_specification(read_text(path), str(path), _beside(path))
    except PlanError as error:
        raise CommandError(str(error), WRONG) from None


def calibrated(specification: "Specification", path: Path | None) -> "Specification":
    """With the measured runs of a file in place of its own."""
    if path is None:
        return specification
    from msgspec.structs import replace

    return replace(specification, measured=load_runs(path))


def load_runs(path: Path) -> "MeasuredRuns":
    """The measured runs of a file; `-` is the standard input."""
    from functools import partial

    from flyball_planner.errors import PlanError
    from flyball_planner.specification.read import read_entry
    from flyball_planner.specification.runs import read_runs

    try:
        text = read_text(path, "`flyball calibrate --columns` says what such a file holds")
        return read_runs(text, str(path), partial(read_entry, file=str(path), files=_beside(path)))
    except PlanError as error:
        raise CommandError(str(error), WRONG) from None


def _beside(path: Path) -> "Callable[[str], str]":
    """Opens what a file names, beside it."""
    folder = Path() if str(path) == "-" else path.parent
    return lambda name: (folder / name).read_text(encoding="utf-8")


def make_folder(path: Path) -> None:
    """A folder for what is written; what stands in the way is said in words."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CommandError(f"--write {path} cannot be made: {error.strerror or error}") from None


def read_text(path: Path, hint: str = "`flyball examples --write .` makes some to begin with") -> str:
    """The text of a file, or what to do about it; the hint is for where there is none."""
    import sys

    try:
        if str(path) == "-":
            return sys.stdin.read(_MOST_BYTES)
        if path.stat().st_size > _MOST_BYTES:
            raise CommandError(f"{path} is larger than {_MOST_BYTES // 10**6} MB: that is no specification", WRONG)
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise CommandError(f"there is no file {path}; {hint}", WRONG) from None
    except UnicodeDecodeError:
        raise CommandError(f"{path} is no text in UTF-8", WRONG) from None
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror or error}", WRONG) from None
