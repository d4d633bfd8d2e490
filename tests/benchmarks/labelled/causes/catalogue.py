"""Every generator, one line each, and the pairs that mixtures are made of."""

from tests.benchmarks.labelled.causes import cpu, disk, memory, network, quiet
from tests.benchmarks.labelled.causes.generator import Generator, History

SINGLE: tuple[Generator, ...] = (*cpu.GENERATORS, *disk.GENERATORS, *memory.GENERATORS, *network.GENERATORS)
QUIET: tuple[Generator, ...] = quiet.GENERATORS

BY_NAME = {generator.name: generator for generator in (*SINGLE, *QUIET)}

PAIRS: tuple[tuple[str, str], ...] = (
    ("spinners", "cold-reads"),
    ("stress-cpu", "latency"),
    ("cold-reads", "small-calls"),
    ("spinners", "slow-service"),
    ("cold-reads", "latency"),
    ("cold-reads", "slow-service"),
    ("spinners", "cache-limit"),
    ("spinners", "swapping"),
)
"""Both are to be named: neither explains the other away. Tuned on."""

SEEN_PAIRS: tuple[tuple[str, str], ...] = (
    ("cold-mapping", "slow-service"),
    ("compression", "latency"),
    ("stress-pipe", "slow-service"),
)
"""Mixtures that were not tuned on, but seen."""

NEW_PAIRS: tuple[tuple[str, str], ...] = (
    ("small-files", "slow-target"),
    ("short-processes", "lossy-link"),
    ("short-processes", "slow-target"),
    ("spinners", "remote-files"),
    ("group-cache", "slow-target"),
    ("io-limit", "slow-target"),
)
"""Mixtures with what was never tuned on."""

_ORDER = (History.TUNED, History.SEEN, History.NEVER)


def history_of(names: tuple[str, ...]) -> History:
    """Return what recordings of these generators together have been used for."""
    return max((BY_NAME[name].history for name in names), key=_ORDER.index, default=History.TUNED)
