"""Scales from 0 to 10. Each is fixed by figures of known machines; other figures lie between them.

A step of a scale is a factor, not a difference: twice the memory is as much better from 16 to 32 GiB as from 32 to 64.
Sources: the catalogue of the planner (`flyball hardware`) for processors, GPUs, disks and networks; machines with eight
GPUs are AWS p4d.24xlarge, p5.48xlarge and p6-b200.48xlarge, with the memory and networks that AWS lists for them.
"""

from collections.abc import Sequence
from itertools import pairwise
from math import log

from msgspec import Struct

HIGHEST = 10.0
SAME = 0.02  # figures that differ by less are equal


class ScaleAnchor(Struct, frozen=True):
    """A figure, its score, and a machine that has it."""

    value: float
    score: float
    machine: str


class ScoreScale(Struct, frozen=True):
    """A figure that is scored, with its anchors in rising order."""

    name: str
    unit: str
    anchors: tuple[ScaleAnchor, ...]

    def score(self, value: float) -> float:
        """Return the score of a value: logarithmic between two anchors, and proportional below the first one."""
        first, last = self.anchors[0], self.anchors[-1]
        if value <= first.value:
            return first.score * max(0.0, value) / first.value
        if value >= last.value:
            return last.score
        lower, upper = next(pair for pair in pairwise(self.anchors) if value <= pair[1].value)
        share = log(value / lower.value) / log(upper.value / lower.value)
        return lower.score + share * (upper.score - lower.score)

    def neighbours(self, value: float) -> str:
        """Return the machines whose figures are next to a value, or the one that has it, with their scores."""
        same = [each for each in self.anchors if abs(value / each.value - 1) < SAME]
        if same:
            return f"like {same[0].machine} ({same[0].score:.1f})"
        below = [each for each in self.anchors if each.value <= value]
        above = [each for each in self.anchors if each.value > value]
        words = [f"above {below[-1].machine} ({below[-1].score:.1f})"] if below else []
        words += [f"below {above[0].machine} ({above[0].score:.1f})"] if above else []
        return ", ".join(words)


def _scale(name: str, unit: str, anchors: Sequence[tuple[float, float, str]]) -> ScoreScale:
    return ScoreScale(name, unit, tuple(ScaleAnchor(*each) for each in anchors))


TRAINING_RATE = _scale("arithmetic for training", "FLOP/s", (
    (0.32e12, 0.5, "a laptop's processor"),
    (5.31e12, 2.0, "M1 Pro"),
    (25.5e12, 4.0, "RTX 3060"),
    (165.2e12, 6.0, "RTX 4090"),
    (989e12, 7.5, "H100 SXM"),
    (2.496e15, 8.5, "8 × A100"),
    (7.912e15, 9.3, "8 × H100 SXM"),
    (18e15, 10.0, "8 × B200"),
))  # fmt: skip
TRAINING_MEMORY = _scale("memory for training", "B", (
    (6 * 2**30, 2.0, "GTX 1660 Ti"),
    (12 * 2**30, 4.0, "RTX 3060"),
    (24 * 2**30, 5.5, "RTX 4090"),
    (80 * 2**30, 7.0, "H100 SXM"),
    (320 * 2**30, 8.5, "8 × A100 40 GB"),
    (640 * 2**30, 9.3, "8 × H100 SXM"),
    (1440 * 2**30, 10.0, "8 × B200"),
))  # fmt: skip
TRAINING_BANDWIDTH = _scale("bandwidth of that memory", "B/s", (
    (200e9, 2.0, "M1 Pro"),
    (360e9, 4.0, "RTX 3060"),
    (1008e9, 6.0, "RTX 4090"),
    (3350e9, 7.5, "H100 SXM"),
    (12.44e12, 8.5, "8 × A100 40 GB"),
    (26.8e12, 9.3, "8 × H100 SXM"),
    (64e12, 10.0, "8 × B200"),
))  # fmt: skip
CORES = _scale("cores", "cores", (
    (4, 2.5, "a laptop"),
    (8, 4.5, "a desktop"),
    (16, 6.0, "Ryzen 9 7950X"),
    (64, 8.0, "EPYC 7763"),
    (128, 9.2, "2 × EPYC 7742"),
    (192, 10.0, "2 × EPYC 9654"),
))  # fmt: skip
VECTOR_RATE = _scale("arithmetic of all cores, fp32", "FLOP/s", (
    (0.32e12, 2.5, "a laptop"),
    (0.896e12, 4.5, "a desktop"),
    (2.304e12, 6.0, "Ryzen 9 7950X"),
    (5.018e12, 8.0, "EPYC 7763"),
    (9.216e12, 9.2, "2 × EPYC 7742"),
    (14.746e12, 10.0, "2 × EPYC 9654"),
))  # fmt: skip
MEMORY_SIZE = _scale("size", "B", (
    (8 * 2**30, 2.0, "a small laptop"),
    (16 * 2**30, 3.5, "a laptop"),
    (32 * 2**30, 5.0, "a desktop"),
    (64 * 2**30, 6.0, "a workstation"),
    (128 * 2**30, 7.0, "a large workstation"),
    (512 * 2**30, 8.5, "a server"),
    (1152 * 2**30, 9.4, "p4d.24xlarge"),
    (2048 * 2**30, 10.0, "p5.48xlarge"),
))  # fmt: skip
MEMORY_BANDWIDTH = _scale("bandwidth", "B/s", (
    (42.7e9, 3.0, "2 channels of DDR4-2666"),
    (83.2e9, 5.0, "2 channels of DDR5-5200"),
    (204.8e9, 7.0, "EPYC 7742"),
    (409.6e9, 8.5, "2 × EPYC 7742"),
    (614.4e9, 9.3, "2 × Xeon 8480+"),
    (921.6e9, 10.0, "2 × EPYC 9654"),
))  # fmt: skip
DISK_RATE = _scale("reading", "B/s", (
    (160e6, 1.5, "a hard disk"),
    (550e6, 4.0, "a SATA SSD"),
    (3.5e9, 7.0, "NVMe over PCIe 3.0"),
    (7e9, 8.0, "NVMe over PCIe 4.0"),
    (14e9, 9.0, "NVMe over PCIe 5.0"),
    (28e9, 10.0, "four striped NVMe disks over PCIe 4.0"),
))  # fmt: skip
DISK_OPERATIONS = _scale("random reads", "per second", (
    (83, 1.0, "a hard disk"),
    (10_000, 5.0, "a SATA SSD"),
    (50_000, 7.0, "NVMe with a short queue"),
    (257_614, 9.0, "Samsung 980 PRO with 16 jobs"),
    (707_062, 10.0, "Samsung 980 PRO with large files"),
))  # fmt: skip
DISK_SPACE = _scale("space", "B", (
    (0.25e12, 2.0, "a small laptop"),
    (1e12, 4.0, "a laptop"),
    (2e12, 5.0, "a workstation"),
    (8e12, 7.0, "p4d.24xlarge"),
    (30.7e12, 9.4, "DGX A100"),
    (61.4e12, 10.0, "a storage server"),
))  # fmt: skip
NETWORK_RATE = _scale("links", "bit/s", (
    (0.1e9, 1.0, "Fast Ethernet"),
    (1e9, 3.0, "1 Gbit/s"),
    (2.5e9, 4.0, "2.5 Gbit/s"),
    (10e9, 5.5, "10 Gbit/s"),
    (100e9, 7.5, "g5.48xlarge"),
    (400e9, 8.5, "p4d.24xlarge"),
    (1.6e12, 9.4, "DGX A100"),
    (3.2e12, 10.0, "p5.48xlarge"),
))  # fmt: skip
SCALES = (
    TRAINING_RATE, TRAINING_MEMORY, TRAINING_BANDWIDTH, CORES, VECTOR_RATE, MEMORY_SIZE, MEMORY_BANDWIDTH,
    DISK_RATE, DISK_OPERATIONS, DISK_SPACE, NETWORK_RATE,
)  # fmt: skip
