"""`flyball version`."""

import platform
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed

import typer

_PACKAGES = ("flyball", "grpcio", "protobuf", "nvidia-ml-py", "psutil", "numpy", "litestar")


def version() -> None:
    """Say which versions are at work. Example: flyball version"""
    for package in _PACKAGES:
        try:
            typer.echo(f"{package:14} {installed(package)}")
        except PackageNotFoundError:
            typer.echo(f"{package:14} not installed")
    typer.echo(f"{'python':14} {platform.python_version()}")
