"""Too little memory: the kernel takes away what the training still needs."""

import random
from collections.abc import Sequence

from tests.benchmarks.labelled.causes.generator import Generator
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
)
