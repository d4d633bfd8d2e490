"""Memory bandwidth by numpy: a copy, and the triad a = b + s·c, in one thread for each usable CPU."""

import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from flyball.host.benchmarks.benchmark_names import BenchmarkFailed
from flyball.host.hardware_parts import MemorySpeed

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

MEBIBYTE = 2**20
MOST_BYTES = 1024 * MEBIBYTE
USUAL_BYTES = 384 * MEBIBYTE
MOST_OF_AVAILABLE = 0.05
TIMES_CACHE = 4
"""The arrays are four times as large as the last cache, as STREAM demands."""

SECONDS = 0.3  # for each of the two kernels
_ARRAYS = 3
_SCALE = 3.0


def measure_memory(threads: int, available_bytes: int | None, cache_bytes: int | None) -> MemorySpeed:
    """Return the bandwidth, counting bytes read and written. Raise BenchmarkFailed if memory is short."""
    try:
        import numpy as np
    except ImportError:
        raise BenchmarkFailed("numpy is not installed: pip install 'flyball-fleet[planner]'") from None
    size = array_bytes(available_bytes, cache_bytes)
    length = max(1, size // 8 // threads)
    with ThreadPoolExecutor(threads) as pool:  # each thread touches its own arrays first, so that they are near it
        slabs = list(pool.map(lambda _: [np.full(length, float(k)) for k in range(_ARRAYS)], range(threads)))
        copied = _best(pool, slabs, _copy) * 2
        triad = _best(pool, slabs, _triad) * 5  # two passes: read c, write a; read a and b, write a
    moved = length * 8 * threads
    return MemorySpeed(
        copy_gb_per_second=copied * moved / 1e9,
        triad_gb_per_second=triad * moved / 1e9,
        threads=threads,
        bytes=moved * _ARRAYS,
    )


def array_bytes(available_bytes: int | None, cache_bytes: int | None) -> int:
    """Return the bytes of one of the three arrays."""
    wanted = min(MOST_BYTES, max(USUAL_BYTES, _ARRAYS * TIMES_CACHE * (cache_bytes or 0)))
    if available_bytes is not None:
        wanted = min(wanted, int(MOST_OF_AVAILABLE * available_bytes))
    if wanted < 16 * MEBIBYTE:
        raise BenchmarkFailed("too little memory is available to measure without disturbing other programs")
    return wanted // _ARRAYS


def _copy(slab: "list[np.ndarray]") -> None:
    import numpy as np

    np.copyto(slab[0], slab[1])


def _triad(slab: "list[np.ndarray]") -> None:
    import numpy as np

    np.multiply(slab[2], _SCALE, out=slab[0])
    np.add(slab[0], slab[1], out=slab[0])


def _best(
    pool: ThreadPoolExecutor, slabs: "list[list[np.ndarray]]", kernel: "Callable[[list[np.ndarray]], None]"
) -> float:
    """Return the passes per second of the quickest pass: others may use the memory at the same time."""
    quickest = float("inf")
    ends = time.perf_counter() + SECONDS
    while time.perf_counter() < ends:
        started = time.perf_counter()
        list(pool.map(kernel, slabs))
        quickest = min(quickest, time.perf_counter() - started)
    return 1 / quickest
