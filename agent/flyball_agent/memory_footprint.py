"""Keep the memory footprint of the agent small: avoid optional imports, return unused memory."""

import ctypes
import gc
import sys

_OPTIONAL_IMPORTS = ("better_exceptions", "greenlet", "grpc_health", "grpc_reflection", "grpc_tools", "rich")
"""structlog and gRPC import these if they are installed. The agent does not need them; together they take 5 MB."""


def import_without_extras() -> None:
    """Import structlog and gRPC without their optional imports. These can still be imported later."""
    hidden = [name for name in _OPTIONAL_IMPORTS if name not in sys.modules]
    hide: dict[str, None] = dict.fromkeys(hidden)
    sys.modules.update(hide)  # type: ignore[arg-type]  # with None, importing the module fails
    try:
        import grpc.aio  # noqa: F401, PLC0415
        import structlog  # noqa: F401, PLC0415
    finally:
        for name in hidden:
            del sys.modules[name]


def release_memory() -> None:
    """Exclude today's objects from garbage collection and return free memory to the system. Call it after start-up."""
    gc.collect()
    gc.freeze()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc only; musl does not have it
    if trim is not None:
        trim(0)
