"""Every generator, one line each, and the pairs that mixtures are made of."""

from tests.benchmarks.labelled.causes import cpu, disk, memory, network, quiet
from tests.benchmarks.labelled.causes.generator import Generator

SINGLE: tuple[Generator, ...] = (*cpu.GENERATORS, *disk.GENERATORS, *memory.GENERATORS, *network.GENERATORS)
QUIET: tuple[Generator, ...] = quiet.GENERATORS
BLIND: tuple[Generator, ...] = cpu.BLIND
"""Causes that the agent cannot see; recorded on request and listed separately."""

BY_NAME = {generator.name: generator for generator in (*SINGLE, *QUIET, *BLIND)}

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
"""Both are to be named: neither explains the other away."""

NEW_PAIRS: tuple[tuple[str, str], ...] = (
    ("cold-mapping", "slow-service"),
    ("compression", "latency"),
    ("stress-pipe", "slow-service"),
)
"""Mixtures with what was never tuned on."""
