"""Too little memory: the kernel takes away what the training still needs."""

import random
from collections.abc import Sequence

from tests.benchmarks.labelled.causes.generator import Generator, History
from tests.benchmarks.labelled.compressed_swap import CompressedSwap
from tests.benchmarks.labelled.plan import SourcePlan
from tests.benchmarks.labelled.scene import Draw, Limit

MIB = 1024**2
OWN = 48 * MIB
"""What the loop itself holds beside its data set."""


def _cache(rng: random.Random) -> Draw:
    size, share, pages = rng.choice((96, 128)) * MIB, rng.choice((0.3, 0.45, 0.6)), rng.choice((200, 400))
    limit = Limit("memory", "memory.limit_in_bytes", OWN + int(share * size), also=(("memory.swappiness", 0),))
    words = f"room for {share:.0%} of a mapped data set, {pages} pages a step"
    return Draw(words, limit, SourcePlan("mapped", pages, size=size))


def _swap(rng: random.Random, counts: Sequence[int] = (300, 500, 800)) -> Draw:
    size, share, pages = rng.choice((96, 128)) * MIB, rng.choice((0.25, 0.35, 0.5)), rng.choice(counts)
    limit = Limit("memory", "memory.limit_in_bytes", OWN + int(share * size), also=(("memory.swappiness", 100),))
    words = f"room for {share:.0%} of the memory in use, {pages} pages a step"
    return Draw(words, limit, SourcePlan("anonymous", pages, size=size))


def _group_cache(rng: random.Random, mebibytes: Sequence[int] = (8, 16, 24)) -> Draw:
    size, share = rng.choice((96, 128)) * MIB, rng.choice((0.25, 0.4, 0.55))
    amount = rng.choice(mebibytes) * MIB
    limit = Limit("memory", "memory.limit_in_bytes", OWN + int(share * size), also=(("memory.swappiness", 0),))
    words = f"room for {share:.0%} of the files that are read, {amount // MIB} MiB a step"
    return Draw(words, limit, SourcePlan("file", amount, size=size))


def _compressed(rng: random.Random, counts: Sequence[int] = (600, 1200, 2400)) -> Draw:
    size, share, pages = rng.choice((96, 128)) * MIB, rng.choice((0.2, 0.3, 0.4)), rng.choice(counts)
    limit = Limit("memory", "memory.limit_in_bytes", OWN + int(share * size), also=(("memory.swappiness", 100),))
    words = f"room for {share:.0%} of the memory in use, the rest compressed (zram), {pages} pages a step"
    return Draw(words, CompressedSwap(limit, 256 * MIB), SourcePlan("anonymous", pages, size=size))


GENERATORS = (
    Generator("cache-limit", "memory", ("bottleneck_memory",), _cache, needs=("memory",)),
    Generator(
        "swapping",
        "swap",
        ("bottleneck_swap",),
        _swap,
        needs=("memory", "swap"),
        draw_mixed=lambda rng: _swap(rng, (800, 1200)),
    ),
    Generator("group-cache", "memory", ("bottleneck_memory",), _group_cache, history=History.NEVER, needs=("memory",)),
    Generator(
        "compressed-swap",
        "swap",
        ("bottleneck_swap",),
        _compressed,
        history=History.NEVER,
        needs=("memory", "zram"),
    ),
)
