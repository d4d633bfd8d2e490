"""The packages that each part of Flyball needs, and the message if some are missing."""

from collections.abc import Sequence
from importlib.util import find_spec

NEEDS = {
    "agent": ("google.protobuf", "grpc", "msgspec", "psutil", "pynvml", "structlog"),
    "collector": (
        "apscheduler", "cryptography", "google.protobuf", "grpc", "grpc_health", "isal", "litestar", "msgspec",
        "numpy", "prometheus_client", "structlog", "uvicorn", "zstandard",
    ),
    "planner": ("msgspec", "numpy", "rich", "typer", "yaml"),
}  # fmt: skip


def missing(part: str) -> list[str]:
    """Return the modules of a part that are not installed. They are searched, not imported."""
    return [module for module in NEEDS[part] if not _found(module)]


def advice(command: str, part: str, absent: Sequence[str]) -> str:
    """Return a message with the command that installs the missing packages."""
    return f"{command} needs packages that are not installed ({', '.join(absent)}): pip install 'flyball-fleet[{part}]'"


def _found(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # its parent package is missing too
        return False
