"""The names of the benchmarks, and the progress that is reported while they run."""

from collections.abc import Collection
from dataclasses import dataclass
from difflib import get_close_matches

MONGO, DISK, MEMORY, PROCESSOR, NETWORK, GPUS = "mongo", "disk", "memory", "processor", "network", "gpus"
BENCHMARKS = (PROCESSOR, MEMORY, DISK, NETWORK, MONGO, GPUS)
"""All benchmarks, in the order in which they run. They run one after the other: they would slow each other down."""
USUAL = tuple(name for name in BENCHMARKS if name != GPUS)
"""Those that run unasked: a GPU takes PyTorch up to half a minute, and may be in use."""

TITLES = {
    PROCESSOR: "matrix products and pattern counting on the CPUs",
    MEMORY: "memory bandwidth",
    DISK: "disk of the working folder",
    NETWORK: "round trips",
    MONGO: "MongoDB",
    GPUS: "matrix products and copies on the GPUs",
}


class BenchmarkFailed(Exception):
    """A benchmark cannot measure; the text is the reason."""


@dataclass(frozen=True, slots=True)
class BenchmarkProgress:
    """Sent before each benchmark (`seconds` is None), and after it."""

    name: str
    number: int
    """From 1 to `total`."""
    total: int
    seconds: float | None = None
    reason: str | None = None
    """Why it could not measure."""

    @property
    def title(self) -> str:
        """Return what is measured, in words."""
        return TITLES[self.name]

    def __str__(self) -> str:
        """Return a line for `progress=print`."""
        start = f"{self.number}/{self.total} {self.title}"
        if self.seconds is None:
            return f"{start} …"
        return f"{start}: not measured: {self.reason}" if self.reason else f"{start}: {self.seconds:.1f} s"


def checked_names(names: Collection[str]) -> tuple[str, ...]:
    """Return the named benchmarks in their order. Raise ValueError for an unknown name."""
    if isinstance(names, str):
        names = (names,)
    for name in names:
        if name not in BENCHMARKS:
            near = get_close_matches(name, BENCHMARKS, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"expected some of {', '.join(BENCHMARKS)}"
            raise ValueError(f"benchmarks: there is no benchmark {name!r}; {hint}")
    return tuple(name for name in BENCHMARKS if name in names)
