"""Keep the memory footprint of the agent small: avoid optional imports, return unused memory."""

import ctypes
import gc
import sys
from importlib.util import find_spec

_OPTIONAL_IMPORTS = ("better_exceptions", "greenlet", "grpc_health", "grpc_reflection", "grpc_tools", "rich")
"""structlog and gRPC import these if they are installed. The agent does not need them; together they take 5 MB."""

_OPENSSL_IMPORTS = ("ssl", "_hashlib")
"""asyncio and hashlib import these if they exist; OpenSSL takes 4 MB. gRPC has its own copy; SHA-256 is built in."""


def import_without_extras() -> None:
    """Import asyncio, structlog and gRPC without their optional imports. These can still be imported later."""
    names = _OPTIONAL_IMPORTS + (_OPENSSL_IMPORTS if _has_own_hashes() else ())
    hidden = [name for name in names if name not in sys.modules]
    hide: dict[str, None] = dict.fromkeys(hidden)
    sys.modules.update(hide)  # type: ignore[arg-type]  # with None, importing the module fails
    try:
        import hashlib  # noqa: F401, PLC0415, I001  before the others, which use it

        import asyncio  # noqa: F401, PLC0415
        import grpc.aio  # noqa: F401, PLC0415
        import structlog  # noqa: F401, PLC0415
    finally:
        for name in hidden:
            del sys.modules[name]


def _has_own_hashes() -> bool:
    """Return True if Python has SHA-256 without OpenSSL. Some distributions leave it out."""
    return any(find_spec(name) is not None for name in ("_sha256", "_sha2"))  # until and since Python 3.12


def release_memory() -> None:
    """Exclude the existing objects from garbage collection and return free memory to the system, after the start."""
    gc.collect()
    gc.freeze()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc only; musl does not have it
    if trim is not None:
        trim(0)
