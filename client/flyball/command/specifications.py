"""Specification files: found, read, and their faults told so that an editor finds the lines."""

import errno
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
    from flyball_reports.errors import InputError

    read_text(path, "docs/hardware.md says what such a file holds")  # it may be anything: first whether it has an end
    try:
        load_hardware(path)
    except InputError as error:
        raise CommandError(str(error), WRONG) from None


def load(path: Path) -> "Specification":
    """The specification of a file; `-` is the standard input."""
    from flyball_planner.specification.read import read_specification
    from flyball_reports.errors import InputError

    try:
        return read_specification(read_text(path), str(path), beside(path))
    except InputError as error:
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

    from flyball_planner.specification.read import read_entry
    from flyball_planner.specification.runs import read_runs
    from flyball_reports.errors import InputError

    try:
        text = read_text(path, "`flyball calibrate --columns` says what such a file holds")
        return read_runs(text, str(path), partial(read_entry, file=str(path), files=beside(path)))
    except InputError as error:
        raise CommandError(str(error), WRONG) from None


def beside(path: Path) -> "Callable[[str], str]":
    """Opens what a file names, beside it."""
    folder = Path() if str(path) == "-" else path.parent
    return lambda name: bounded_text(folder / name)


def make_folder(path: Path) -> None:
    """A folder for what is written; what stands in the way is said in words."""
    if path.exists() and not path.is_dir():
        raise CommandError(f"--write {path} is a file; name a folder", WRONG)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CommandError(f"--write {path} cannot be made: {error.strerror or error}") from None


def bounded_text(path: Path) -> str:
    """The text of a file that has an end, and is no larger than such files are."""
    with path.open("rb") as file:
        content = file.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        raise OSError(errno.EFBIG, f"larger than {_MOST_BYTES // 10**6} MB")
    return content.decode("utf-8")


def read_text(path: Path, hint: str = "`flyball examples --write .` makes some to begin with") -> str:
    """The text of a file, or what to do about it; the hint is for where there is none."""
    import sys

    try:
        if str(path) == "-":
            return sys.stdin.read(_MOST_BYTES)
        return bounded_text(path)
    except FileNotFoundError:
        raise CommandError(f"there is no file {path}; {hint}", WRONG) from None
    except UnicodeDecodeError:
        raise CommandError(f"{path} is no text in UTF-8", WRONG) from None
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror or error}", WRONG) from None
