"""Too little processor: other work wants it, too."""

import random
from collections.abc import Sequence

from tests.benchmarks.labelled.causes.generator import Generator, History, script
from tests.benchmarks.labelled.scene import Draw, Limit, Programs

SPIN = "while True: pass"


def _spinners(rng: random.Random, counts: Sequence[int] = (2, 3, 4, 6)) -> Draw:
    count = rng.choice(counts)
    return Draw(f"{count} spinning processes", Programs("spinners", (script(SPIN),) * count))


def _stress(rng: random.Random) -> Draw:
    count, method = rng.choice((2, 3, 4)), rng.choice(("fft", "matrixprod", "int64", "double"))
    command = ("stress-ng", "--cpu", str(count), "--cpu-method", method)
    return Draw(f"stress-ng --cpu {count} ({method})", Programs("stress-cpu", (command,)))


def _compression(rng: random.Random) -> Draw:
    count, program = rng.choice((2, 3, 4)), rng.choice(("xz -6", "gzip -9", "zstd -15 -q"))
    job = ("sh", "-c", f"while :; do tar -cf - -C /usr/lib python3 2>/dev/null | {program} >/dev/null; done")
    return Draw(f"{count} jobs of tar and {program}", Programs("compression", (job,) * count))


def _caches(rng: random.Random) -> Draw:
    count = rng.choice((2, 3, 4))
    return Draw(f"stress-ng --cache {count}", Programs("stress-cache", (("stress-ng", "--cache", str(count)),)))


def _sockets(rng: random.Random) -> Draw:
    count = rng.choice((2, 3))
    return Draw(f"stress-ng --sock {count}", Programs("stress-sock", (("stress-ng", "--sock", str(count)),)))


def _pipes(rng: random.Random) -> Draw:
    count = rng.choice((2, 3))
    return Draw(f"stress-ng --pipe {count}", Programs("stress-pipe", (("stress-ng", "--pipe", str(count)),)))


def _forks(rng: random.Random, counts: Sequence[int] = (2, 3, 4)) -> Draw:
    count = rng.choice(counts)
    command = ("stress-ng", "--fork", str(count))
    return Draw(f"{count} sources of processes that live for a moment", Programs("short-processes", (command,)))


def _datagrams(rng: random.Random) -> Draw:
    count = rng.choice((2, 3))
    command = ("stress-ng", "--udp", str(count))
    return Draw(f"stress-ng --udp {count}: interrupts and copies of packets", Programs("datagrams", (command,)))


def _quota(rng: random.Random) -> Draw:
    percent = rng.choice((25, 40, 60))
    limit = Limit("cpu", "cpu.cfs_quota_us", percent * 1000)
    return Draw(f"a quota of {percent} % of one core", limit)


GENERATORS = (
    Generator("spinners", "cpu", ("bottleneck_cpu",), _spinners, draw_mixed=lambda rng: _spinners(rng, (2, 3))),
    Generator("stress-cpu", "cpu", ("bottleneck_cpu",), _stress, needs=("stress-ng",)),
    Generator("compression", "cpu", ("bottleneck_cpu",), _compression, history=History.SEEN),
    Generator("stress-cache", "cpu", ("bottleneck_cpu",), _caches, history=History.SEEN, needs=("stress-ng",)),
    Generator("stress-sock", "cpu", ("bottleneck_cpu",), _sockets, history=History.SEEN, needs=("stress-ng",)),
    Generator("stress-pipe", "cpu", ("bottleneck_cpu",), _pipes, history=History.SEEN, needs=("stress-ng",)),
    Generator("cpu-quota", "cpu", ("bottleneck_cpu",), _quota, history=History.NEVER, needs=("cpu",)),
    Generator(
        "short-processes",
        "cpu",
        ("bottleneck_cpu",),
        _forks,
        history=History.NEVER,
        needs=("stress-ng",),
        draw_mixed=lambda rng: _forks(rng, (2,)),
    ),
    Generator("datagrams", "cpu", ("bottleneck_cpu",), _datagrams, history=History.NEVER, needs=("stress-ng",)),
)
