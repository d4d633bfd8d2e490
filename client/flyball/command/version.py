"""`flyball version`."""

import platform
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed

import typer

from flyball.command.output import FormatOption, OutputFormat, write_json

EXAMPLES = ("flyball version", "flyball version --format json")
_PACKAGES = ("flyball-fleet", "grpcio", "protobuf", "nvidia-ml-py", "psutil", "numpy", "litestar")


def version(format_: FormatOption = OutputFormat.TABLE) -> None:
    """Print the versions of Flyball, of its main packages and of Python."""
    versions = {package: _version(package) for package in _PACKAGES} | {"python": platform.python_version()}
    if format_ is OutputFormat.JSON:
        return write_json(versions)
    for package, number in versions.items():
        typer.echo(f"{package:14} {number or 'not installed'}")
    return None


def _version(package: str) -> str | None:
    try:
        return installed(package)
    except PackageNotFoundError:
        return None
