"""A disk that is too slow, or that others keep busy."""

import random
from collections.abc import Sequence

from tests.benchmarks.labelled.causes.generator import Generator, History, script
from tests.benchmarks.labelled.control_group import disk_of
from tests.benchmarks.labelled.plan import Change, SourcePlan
from tests.benchmarks.labelled.scene import DATA_ROOT, Draw, Limit, LoopSwitch, Programs

MIB = 1024**2

READER = """
import mmap, os, random, sys
size = int(sys.argv[1])
file = os.open("data.bin", os.O_RDONLY | os.O_DIRECT)
room, places = mmap.mmap(-1, size), os.fstat(file).st_size // size
while True:
    os.preadv(file, [room], random.randrange(places) * size)
"""
WRITER = """
import mmap, os, sys, time
size, name, pause = int(sys.argv[1]), sys.argv[2], float(sys.argv[3])
file = os.open(name, os.O_CREAT | os.O_WRONLY | os.O_DIRECT, 0o600)
os.unlink(name)
room, place = mmap.mmap(-1, size), 0
room.write(os.urandom(size))
while True:
    os.pwrite(file, room, place * size)
    os.fsync(file)
    place = (place + 1) % 64
    time.sleep(pause)
"""


def _cold(rng: random.Random, mebibytes: Sequence[int] = (8, 16, 24, 32)) -> Draw:
    amount = rng.choice(mebibytes) * MIB
    switch = LoopSwitch(Change(cold=True), Change(cold=False))
    return Draw(f"batches of {amount // MIB} MiB, not cached", switch, SourcePlan("file", amount))


def _readers(rng: random.Random) -> Draw:
    count, size = rng.choice((6, 10, 16)), rng.choice((1, 2, 4)) * MIB
    own = rng.choice((4, 8)) * MIB
    programs = Programs("readers", (script(READER, size),) * count)
    return Draw(f"{count} readers of {size // MIB} MiB", programs, SourcePlan("file", own, cold=True))


def _writers(rng: random.Random) -> Draw:
    count, size = rng.choice((4, 8, 12)), rng.choice((2, 4)) * MIB
    own = rng.choice((4, 8)) * MIB
    commands = tuple(script(WRITER, size, f"written-{number}.bin", 0.0) for number in range(count))
    return Draw(
        f"{count} writers of {size // MIB} MiB", Programs("writers", commands), SourcePlan("file", own, cold=True)
    )


def _hdd(rng: random.Random) -> Draw:
    count = rng.choice((4, 6, 8))
    command = ("stress-ng", "--hdd", str(count), "--hdd-opts", "direct,wr-seq", "--hdd-bytes", "64M",
               "--hdd-write-size", "1M", "--temp-path", ".")  # fmt: skip
    own = rng.choice((4, 8)) * MIB
    return Draw(f"stress-ng --hdd {count}", Programs("stress-hdd", (command,)), SourcePlan("file", own, cold=True))


def _mapped(rng: random.Random, counts: Sequence[int] = (80, 160, 320)) -> Draw:
    pages = rng.choice(counts)
    switch = LoopSwitch(Change(cold=True), Change(cold=False))
    return Draw(
        f"{pages} random pages of a cold mapping", switch, SourcePlan("mapped", pages, size=64 * MIB, scattered=True)
    )


def _small_files(rng: random.Random, counts: Sequence[int] = (120, 240, 480)) -> Draw:
    count = rng.choice(counts)
    switch = LoopSwitch(Change(cold=True), Change(cold=False))
    return Draw(f"{count} small files a step, not cached", switch, SourcePlan("small_files", count))


def _checkpoints(rng: random.Random) -> Draw:
    every, size = rng.choice((2, 3, 5)), rng.choice((32, 64)) * MIB
    switch = LoopSwitch(Change(checkpoint_steps=every), Change(checkpoint_steps=0))
    words = f"a checkpoint of {size // MIB} MiB every {every} steps, forced to the disk"
    return Draw(words, switch, loop={"checkpoint_bytes": size})


def _throttled(rng: random.Random) -> Draw:
    rate, amount = rng.choice((20, 40, 80)), rng.choice((2, 4, 8)) * MIB
    disk = disk_of(DATA_ROOT)
    limit = Limit("blkio", "blkio.throttle.read_bps_device", f"{disk} {rate * MIB}", f"{disk} 0")
    words = f"a limit of {rate} MiB/s on the training's reads of {amount // MIB} MiB"
    return Draw(words, limit, SourcePlan("file", amount, cold=True))


GENERATORS = (
    Generator("cold-reads", "disk", ("bottleneck_disk",), _cold, draw_mixed=lambda rng: _cold(rng, (48, 64))),
    Generator("disk-readers", "disk", ("bottleneck_disk",), _readers),
    Generator("disk-writers", "disk", ("bottleneck_disk",), _writers),
    Generator("stress-hdd", "disk", ("bottleneck_disk",), _hdd, history=History.SEEN, needs=("stress-ng",)),
    Generator(
        "cold-mapping",
        "disk",
        ("bottleneck_disk",),
        _mapped,
        history=History.SEEN,
        draw_mixed=lambda rng: _mapped(rng, (320,)),
    ),
    Generator(
        "small-files",
        "disk",
        ("bottleneck_disk",),
        _small_files,
        history=History.NEVER,
        draw_mixed=lambda rng: _small_files(rng, (360, 480)),
    ),
    Generator("checkpoints", "disk", ("bottleneck_disk", "bottleneck_checkpoint"), _checkpoints, history=History.NEVER),
    Generator("io-limit", "disk", ("bottleneck_disk",), _throttled, history=History.NEVER, needs=("blkio",)),
)
