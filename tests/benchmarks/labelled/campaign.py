"""A run of many episodes: which ones, in which order, on what machine; it can be taken up again where it ended."""

import random
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from tests.benchmarks.labelled.causes.catalogue import BLIND, NEW_PAIRS, PAIRS, QUIET, SINGLE
from tests.benchmarks.labelled.causes.generator import Generator
from tests.benchmarks.labelled.episode import Episode, Recorded, Stage, judged_again
from tests.benchmarks.labelled.label import Use
from tests.benchmarks.labelled.plan import Reports
from tests.benchmarks.labelled.record import Recorder
from tests.benchmarks.labelled.scene import Child, can_group, make_data, swap_file
from tests.benchmarks.labelled.surroundings import Ports

PAIRS_A_ROUND = 7


@dataclass(frozen=True, slots=True)
class Machine:
    """The means that this machine offers."""

    means: frozenset[str]

    def can(self, generator: Generator) -> bool:
        """Return True if a generator works on this machine."""
        return self.means.issuperset(generator.needs)


def episodes(
    seed: int,
    machine: Machine,
    *,
    tuning: bool,
    full_seconds: float,
    only: Sequence[str] = (),
    reports: Reports = "client",
) -> Iterator[Episode]:
    """Episodes without end, the same for the same seed; any stretch of them is well mixed."""
    rng, number = random.Random(seed), 0
    wanted = [g for g in (*SINGLE, *BLIND, *QUIET) if (g.name in only if only else g not in BLIND)]
    wanted = [g for g in wanted if machine.can(g) and (g.tuned or not tuning)]
    singles, quiet = [g for g in wanted if not g.quiet], [g for g in wanted if g.quiet]
    usable = {g.name for g in singles}
    pairs = [pair for pair in (PAIRS if tuning else (*PAIRS, *NEW_PAIRS)) if usable.issuperset(pair)]
    if not wanted:
        raise ValueError("none of these generators can be used here")
    while True:
        chosen: list[tuple[str, ...]] = [(g.name,) for g in (*singles, *quiet)]
        chosen += rng.sample(pairs, min(PAIRS_A_ROUND, len(pairs)))
        rng.shuffle(chosen)
        for names in chosen:
            number += 1
            yield Episode(f"{number:04d}-{'+'.join(names)}", rng.randrange(2**32), names, full_seconds, reports)


@contextmanager
def stage() -> Iterator[tuple[Stage, Machine]]:
    """Servers, recorder, data set and swap, for as long as this lasts; on a real disk."""
    means = {name for name in ("memory", "cpu") if can_group(name)}
    means |= {program for program in ("stress-ng",) if shutil.which(program)}
    with tempfile.TemporaryDirectory(prefix="flyball-labelled-", dir="/var/tmp") as name:  # /tmp may be memory
        folder = Path(name)
        make_data(folder)
        with swap_file(folder / "swap") as has_swap, Child("surroundings") as weather:
            ports = msgspec.json.decode(weather.read_line(), type=Ports)
            target = f"http://127.0.0.1:{ports.service}/health"
            with Recorder(folder / "agent.sock", target) as recorder:
                time.sleep(2)  # counters need a reading before
                machine = Machine(frozenset(means | ({"swap"} if has_swap else set())))
                yield Stage(folder, recorder, weather, ports, folder / "agent.sock"), machine


def read_recorded(folder: Path) -> list[Recorded]:
    """Every episode of a folder, in order, labelled by today's rules."""
    paths = sorted(folder.glob("[0-9]*.json"))
    return [judged_again(msgspec.json.decode(path.read_bytes(), type=Recorded)) for path in paths]


def record(
    out: Path,
    *,
    seed: int,
    scored: int,
    tuning: bool,
    until: float,
    full_seconds: float,
    only: Sequence[str] = (),
    reports: Reports = "client",
) -> list[Recorded]:
    """Record until so many episodes can be scored, or the time is up; what lies there already counts."""
    out.mkdir(parents=True, exist_ok=True)
    done = {recorded.name: recorded for recorded in read_recorded(out)}
    with stage() as (staged, machine):
        played = episodes(seed, machine, tuning=tuning, full_seconds=full_seconds, only=only, reports=reports)
        for episode in played:
            if _useful(done) >= scored or time.monotonic() > until:
                break
            if episode.name in done:
                continue
            try:
                recorded = done[episode.name] = staged.play(episode, out)
            except TimeoutError as error:  # the kernel could not make the cause, such as a smaller limit of memory
                print(f"{episode.name}: not played: {error}", file=sys.stderr, flush=True)
                continue
            _report(recorded, _useful(done), scored)
    return [done[name] for name in sorted(done)]


def _useful(done: dict[str, Recorded]) -> int:
    return sum(recorded.label.use is not Use.DROPPED for recorded in done.values())


def _report(recorded: Recorded, useful: int, scored: int) -> None:
    gains = ", ".join(f"{name} ×{min(found):.2f}" for name, found in recorded.label.gains.items() if found)
    words = f"{useful}/{scored} {recorded.name} ({'; '.join(recorded.strengths)}): {recorded.label.use}"
    print(" ".join(part for part in (words, recorded.label.why, gains) if part), file=sys.stderr, flush=True)


def record_steady(
    out: Path, *, loads: Sequence[str], seconds: float, until: float, reports: Reports = "client"
) -> None:
    """One long episode of each load; its name decides its seed."""
    out.mkdir(parents=True, exist_ok=True)
    missing = [name for name in loads if not (out / f"steady-{name}.json").exists()]
    if not missing:
        return
    with stage() as (staged, _):
        for number, name in enumerate(missing):
            if time.monotonic() < until:
                episode = Episode(f"steady-{name}", number, (name,), seconds, reports)
                _report(staged.play(episode, out), number + 1, len(missing))
