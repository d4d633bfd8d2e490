"""Specification files and other input files of the planning commands."""

import errno
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flyball.command.errors import CommandError, WrongArgument

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import BinaryIO

    from flyball_planner.calibration.measured_runs import MeasuredRuns
    from flyball_planner.specification.specification import Specification

HardwareFileOption = Annotated[
    Path | None, typer.Option("--hardware-file", metavar="FILE", help="Your own devices, in YAML or CSV.")
]
CalibrationOption = Annotated[
    Path | None,
    typer.Option("--calibration", metavar="FILE", help="Measured runs, instead of those of the specification."),
]
_MOST_BYTES = 4_000_000


def one_name(name: str, details: str, *, list_: bool) -> str:
    """Return the name of the argument or of --details; an empty one asks for the list."""
    if name and details and name != details:
        raise WrongArgument(f"{name} and --details {details} are two names; give one")
    if list_ and (name or details):
        raise WrongArgument(f"--list and the name {name or details} exclude each other; give one")
    return name or details


def use_hardware(path: Path | None) -> None:
    """Add the devices of a file to the known ones."""
    if path is None:
        return
    from flyball_planner.catalogue.files import load_hardware
    from flyball_reports.errors import InputError

    read_text(path, "docs/hardware.md shows its format")  # rejects files that are endless or not text
    try:
        load_hardware(path)
    except InputError as error:
        raise WrongArgument(str(error)) from None


def load(path: Path) -> "Specification":
    """Read a specification; `-` is the standard input."""
    from flyball_planner.specification.reader import read_specification
    from flyball_reports.errors import InputError

    try:
        return read_specification(read_text(path), str(path), beside(path))
    except InputError as error:
        raise WrongArgument(str(error)) from None


def calibrated(specification: "Specification", path: Path | None) -> "Specification":
    """Return the specification with the measured runs of a file instead of its own."""
    if path is None:
        return specification
    from msgspec.structs import replace

    return replace(specification, measured=load_runs(path))


def load_runs(path: Path) -> "MeasuredRuns":
    """Read measured runs; `-` is the standard input."""
    from functools import partial

    from flyball_planner.specification.reader import read_entry
    from flyball_planner.specification.runs import read_runs
    from flyball_reports.errors import InputError

    try:
        text = read_text(path, "`flyball calibrate --columns` lists the columns of one")
        return read_runs(text, str(path), partial(read_entry, file=str(path), files=beside(path)))
    except InputError as error:
        raise WrongArgument(str(error)) from None


def beside(path: Path) -> "Callable[[str], str]":
    """Return a function that reads files relative to the folder of a file."""
    folder = Path() if str(path) == "-" else path.parent
    return lambda name: bounded_text(folder / name)


def make_folder(path: Path, option: str = "--write") -> None:
    """Create the folder that an option names."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise WrongArgument(f"{option} {path} is a file; name a folder") from None
    except PermissionError:
        raise CommandError(f"{option} {path}: no permission to create this folder; name another") from None
    except OSError as error:
        raise CommandError(f"{option} {path}: cannot create this folder: {error.strerror or error}") from None


def bounded_text(path: Path) -> str:
    """Read a text file. Raise an error if it is endless or too large for what it should hold."""
    with path.open("rb") as file:
        return _bounded(file)


def _bounded(file: "BinaryIO") -> str:
    content = file.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        raise OSError(errno.EFBIG, f"larger than {_MOST_BYTES // 10**6} MB")
    return content.decode("utf-8")


def _standard_input() -> str:
    """Read the standard input; one that is closed is empty."""
    return _bounded(sys.stdin.buffer) if sys.stdin is not None else ""


def read_text(path: Path, hint: str = "`flyball examples` writes examples to start from") -> str:
    """Read a text file; `-` is the standard input. The hint is for a file that does not exist or is empty."""
    from flyball_reports.errors import read_fault

    name = "the standard input" if str(path) == "-" else str(path)
    try:
        text = _standard_input() if str(path) == "-" else bounded_text(path)
    except FileNotFoundError as error:
        raise WrongArgument(f"{read_fault(path, error)}; {hint}") from None
    except UnicodeDecodeError:
        raise WrongArgument(f"{name} is not valid UTF-8; save it as UTF-8") from None
    except OSError as error:
        raise WrongArgument(read_fault(name, error)) from None
    if not text.strip():
        raise WrongArgument(f"{name} is empty; {hint}")
    return text
