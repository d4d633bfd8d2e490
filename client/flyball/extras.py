"""Which packages a part of Flyball needs, and what to say when they are not here."""

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
    """Modules of a part that cannot be imported here; looks without importing them."""
    return [module for module in NEEDS[part] if not _found(module)]


def advice(command: str, part: str, absent: Sequence[str]) -> str:
    """What to install."""
    return f"{command} needs packages that are not installed ({', '.join(absent)}): pip install 'flyball[{part}]'"


def _found(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # not even the package around it
        return False
