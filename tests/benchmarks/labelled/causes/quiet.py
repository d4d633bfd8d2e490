"""Load that stays out of the loop's way, and loops that are busy and well fed: nobody is to be blamed."""

import random

from tests.benchmarks.labelled.causes.disk import WRITER
from tests.benchmarks.labelled.causes.generator import Generator, History, script
from tests.benchmarks.labelled.plan import SourcePlan
from tests.benchmarks.labelled.scene import Draw, Programs, WeatherSwitch
from tests.benchmarks.labelled.surroundings import Weather

MIB = 1024**2

PULSE = """
import sys, time
share = float(sys.argv[1])
while True:
    began = time.perf_counter()
    while time.perf_counter() - began < 0.02 * share: pass
    time.sleep(0.02 * (1 - share))
"""
READ_CACHED = """
import os, sys, time
file = os.open("data.bin", os.O_RDONLY)
while True:
    for place in range(0, 512 * 2**20, 2**20):
        os.pread(file, 2**20, place)
        time.sleep(0.004)
"""
BUFFERED = """
import os, sys, time
size = int(sys.argv[1])
file = os.open("log.bin", os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
while True:
    os.pwrite(file, bytes(size), 0)
    time.sleep(0.2)
"""
HOLD = """
import mmap, sys, time
room = mmap.mmap(-1, int(sys.argv[1]))
for place in range(0, len(room), 4096): room[place] = 1
time.sleep(1000)
"""


def _nothing(rng: random.Random) -> Draw:
    return Draw("nothing", Programs("nothing", ()), rng.choice((None, SourcePlan("file", 2 * MIB))))


def _busy(rng: random.Random) -> Draw:
    return Draw(
        "nothing; all cores compute", Programs("nothing", ()), loop={"threads": 2, "hidden": rng.choice((1024, 1536))}
    )


def _pulse(rng: random.Random) -> Draw:
    share = rng.choice((0.1, 0.2, 0.3))
    return Draw(f"another process uses {share:.0%} of one core", Programs("pulse", (script(PULSE, share),)))


def _nice(_: random.Random) -> Draw:
    command = ("nice", "-n", "19", *script("while True: pass"))
    return Draw("an idle-priority process on the free core", Programs("nice", (command,)))


def _cached(_: random.Random) -> Draw:
    return Draw("another process reads cached files", Programs("cached", (script(READ_CACHED),)))


def _holding(rng: random.Random) -> Draw:
    size = rng.choice((1, 2)) * 1024 * MIB
    return Draw(f"another process holds {size // MIB} MiB", Programs("holding", (script(HOLD, size),)))


def _writing(_: random.Random) -> Draw:
    return Draw(
        "another process writes; the loop reads no disk", Programs("writing", (script(WRITER, MIB, "other.bin", 0.02),))
    )


def _elsewhere(rng: random.Random) -> Draw:
    seconds = rng.choice((0.02, 0.05, 0.1))
    return Draw(
        f"the network is {seconds * 1e3:.0f} ms slower; the loop does not use it",
        WeatherSwitch(Weather(network_seconds=seconds)),
    )


def _well_fed(rng: random.Random) -> Draw:
    source = SourcePlan("remote", rng.choice((64, 256)) * 1024)
    return Draw("nothing; workers run ahead", Programs("nothing", ()), source, {"workers": rng.choice((1, 2))})


def _slow_elsewhere(rng: random.Random) -> Draw:
    seconds = rng.choice((0.02, 0.1, 0.5))
    weather = Weather(service_seconds=seconds, health_seconds=seconds)
    return Draw(f"a service takes {seconds * 1e3:.0f} ms; the loop does not call it", WeatherSwitch(weather))


def _warm_files(rng: random.Random) -> Draw:
    count = rng.choice((20, 40))
    return Draw(
        f"nothing; {count} cached small files a step", Programs("nothing", ()), SourcePlan("small_files", count)
    )


def _buffered(rng: random.Random) -> Draw:
    size = rng.choice((1, 4)) * MIB
    return Draw(f"another process writes {size // MIB} MiB at a time", Programs("buffered", (script(BUFFERED, size),)))


GENERATORS = (
    Generator("nothing", "quiet", (), _nothing, quiet=True),
    Generator("busy-loop", "quiet", (), _busy, quiet=True),
    Generator("light-load", "quiet", (), _pulse, quiet=True),
    Generator("idle-priority", "quiet", (), _nice, quiet=True),
    Generator("cached-reads", "quiet", (), _cached, quiet=True),
    Generator("memory-held", "quiet", (), _holding, quiet=True),
    Generator("other-writes", "quiet", (), _writing, quiet=True),
    Generator("slow-elsewhere", "quiet", (), _elsewhere, quiet=True),
    Generator("well-fed", "quiet", (), _well_fed, quiet=True),
    Generator("slow-service-elsewhere", "quiet", (), _slow_elsewhere, history=History.NEVER, quiet=True),
    Generator("warm-files", "quiet", (), _warm_files, history=History.NEVER, quiet=True),
    Generator("buffered-writes", "quiet", (), _buffered, history=History.NEVER, quiet=True),
)
