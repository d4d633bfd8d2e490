"""Keeps the process small: what libraries bring in only because it happens to be installed is left out."""

import ctypes
import gc
import sys

_BYWAYS = ("better_exceptions", "greenlet", "grpc_health", "grpc_reflection", "grpc_tools", "rich")
"""structlog and gRPC import these where they find them, for uses that the agent has not; together 5 MB."""


def import_leanly() -> None:
    """Import structlog and gRPC without their byways, which stay free to be imported by others afterwards."""
    hidden = [name for name in _BYWAYS if name not in sys.modules]
    hide: dict[str, None] = dict.fromkeys(hidden)
    sys.modules.update(hide)  # type: ignore[arg-type]  # None is how Python is told that a module is not to be had
    try:
        import grpc.aio  # noqa: F401, PLC0415
        import structlog  # noqa: F401, PLC0415
    finally:
        for name in hidden:
            del sys.modules[name]


def settle_memory() -> None:
    """Once all is started: what was made lives as long as the agent, so never look at it again; give the rest back."""
    gc.collect()
    gc.freeze()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc's; musl has none
    if trim is not None:
        trim(0)
