"""Keep the memory footprint of the agent small: avoid optional imports, return unused memory."""

import ctypes
import gc
import sys
from importlib.util import find_spec

_OPTIONAL_IMPORTS = (
    "better_exceptions", "bz2", "greenlet", "grpc_health", "grpc_reflection", "grpc_tools", "lzma", "rich",
)  # fmt: skip
"""structlog, gRPC and shutil import these if they are there. The agent does not need them; together they take 5 MB."""

_OPENSSL_IMPORTS = ("ssl", "_hashlib")
"""asyncio and hashlib import these if they exist; OpenSSL takes 4 MB. gRPC has its own copy; SHA-256 is built in."""


_M_ARENA_MAX = -8  # malloc.h of glibc


def use_one_heap() -> None:
    """Let all threads allocate from one heap. glibc would give each a heap of its own, which keeps what it freed.

    Call this before the first thread starts. The interpreter lock lets one thread work at a time, so none waits longer.
    """
    set_option = getattr(ctypes.CDLL(None), "mallopt", None)  # glibc only; musl has one heap
    if set_option is not None:
        set_option(_M_ARENA_MAX, 1)


def import_without_extras() -> None:
    """Import asyncio, structlog, gRPC and shutil without their optional imports. These can still be imported later."""
    names = _OPTIONAL_IMPORTS + (_OPENSSL_IMPORTS if _has_own_hashes() else ())
    hidden = [name for name in names if name not in sys.modules]
    hide: dict[str, None] = dict.fromkeys(hidden)
    sys.modules.update(hide)  # type: ignore[arg-type]  # with None, importing the module fails
    try:
        import hashlib  # noqa: F401, PLC0415, I001  before the others, which use it

        import asyncio  # noqa: F401, PLC0415
        import grpc.aio  # noqa: F401, PLC0415
        import shutil  # noqa: F401, PLC0415  for `ctypes.util`, with which NVIDIA's library is found
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
