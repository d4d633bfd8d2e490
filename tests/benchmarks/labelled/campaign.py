"""A run of many episodes: which ones, in which order, on what machine; it can be taken up again where it ended."""

import random
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from tests.benchmarks.labelled.causes.catalogue import NEW_PAIRS, PAIRS, QUIET, SEEN_PAIRS, SINGLE
from tests.benchmarks.labelled.causes.generator import Generator, History
from tests.benchmarks.labelled.compressed_swap import has_zram
from tests.benchmarks.labelled.control_group import can_group
from tests.benchmarks.labelled.episode import Episode, Recorded, Stage, judged_again
from tests.benchmarks.labelled.label import Use
from tests.benchmarks.labelled.plan import Reports
from tests.benchmarks.labelled.record import Recorder
from tests.benchmarks.labelled.scene import DATA_ROOT, SHARE, Child, make_data, share, swap_file
from tests.benchmarks.labelled.surroundings import Ports
from tests.benchmarks.labelled.wire import enter_namespace

PAIRS_A_ROUND = 7
OTHERS_A_ROUND = 5
FOCUS_CAUSES = frozenset({"network", "service"})
"""With a focus, these come up in each round even if they were tuned on."""


@dataclass(frozen=True, slots=True)
class Machine:
    """The means that this machine offers."""

    means: frozenset[str]

    def can(self, generator: Generator) -> bool:
        """Return True if a generator works on this machine."""
        return self.means.issuperset(generator.needs)


@dataclass(frozen=True, slots=True)
class Choice:
    """The generators and pairs of a run: of each round all in `always`, and some of the others."""

    always: tuple[tuple[str, ...], ...]
    others: tuple[tuple[str, ...], ...]
    pairs: tuple[tuple[str, str], ...]
    others_a_round: int = 0

    def round(self, rng: random.Random) -> list[tuple[str, ...]]:
        """Return the episodes of a round, mixed."""
        chosen = [*self.always, *rng.sample(self.others, min(self.others_a_round, len(self.others)))]
        chosen += rng.sample(self.pairs, min(PAIRS_A_ROUND, len(self.pairs)))
        rng.shuffle(chosen)
        return chosen


def choose(machine: Machine, *, tuning: bool = False, focus: bool = False, only: Sequence[str] = ()) -> Choice:
    """Choose what this machine can do: for tuning what may be tuned on, and with `focus` mostly what never was."""
    wanted = [g for g in (*SINGLE, *QUIET) if (not only or g.name in only) and (g.tuned or not tuning)]
    wanted = [g for g in wanted if machine.can(g)]
    if not wanted:
        raise ValueError("none of these generators can be used here")
    pairs = PAIRS if tuning else NEW_PAIRS if focus else (*PAIRS, *SEEN_PAIRS, *NEW_PAIRS)
    usable = {g.name for g in wanted if not g.quiet}
    possible = tuple(pair for pair in pairs if usable.issuperset(pair))
    first = [g for g in wanted if not focus or g.history is History.NEVER or g.cause in FOCUS_CAUSES]
    others = tuple((g.name,) for g in wanted if g not in first)
    return Choice(tuple((g.name,) for g in first), others, possible, OTHERS_A_ROUND)


def episodes(seed: int, choice: Choice, *, full_seconds: float, reports: Reports = "client") -> Iterator[Episode]:
    """Episodes without end, the same for the same seed; any stretch of them is well mixed."""
    rng, number = random.Random(seed), 0
    while True:
        for names in choice.round(rng):
            number += 1
            yield Episode(f"{number:04d}-{'+'.join(names)}", rng.randrange(2**32), names, full_seconds, reports)


@contextmanager
def stage() -> Iterator[tuple[Stage, Machine]]:
    """Servers, recorder, data set and swap, for as long as this lasts; on a real disk."""
    has_namespace = enter_namespace()  # networks and mounts of our own: what is made in them ends with this process
    means = {name for name in ("memory", "cpu", "blkio") if can_group(name)}
    means |= {program for program in ("stress-ng",) if shutil.which(program)}
    with tempfile.TemporaryDirectory(prefix="flyball-labelled-", dir=DATA_ROOT) as name, ExitStack() as stack:
        folder = Path(name)
        make_data(folder)
        if has_zram():
            means.add("zram")
        if stack.enter_context(swap_file(folder / "swap")):
            means.add("swap")
        weather = stack.enter_context(Child("surroundings", *(("--packets",) if has_namespace else ())))
        ports = msgspec.json.decode(weather.read_line(), type=Ports)
        if ports.has_packets:
            means.add("packets")
            if stack.enter_context(share(folder / SHARE, ports)):
                means.add("fuse")
        recorder = Recorder(folder / "agent.sock", f"http://{ports.host}:{ports.service}/health")
        stack.enter_context(recorder)
        time.sleep(2)  # counters need a reading before
        yield Stage(folder, recorder, weather, ports, folder / "agent.sock"), Machine(frozenset(means))


def read_recorded(folder: Path) -> list[Recorded]:
    """Every episode of a folder, in order, labelled by today's rules."""
    paths = sorted(folder.glob("[0-9]*.json"))
    return [judged_again(msgspec.json.decode(path.read_bytes(), type=Recorded)) for path in paths]


def record(
    out: Path,
    *,
    seed: int,
    scored: int,
    until: float,
    full_seconds: float,
    tuning: bool = False,
    focus: bool = False,
    only: Sequence[str] = (),
    reports: Reports = "client",
) -> list[Recorded]:
    """Record until so many episodes can be scored, or the time is up; what lies there already counts."""
    out.mkdir(parents=True, exist_ok=True)
    done = {recorded.name: recorded for recorded in read_recorded(out)}
    with stage() as (staged, machine):
        choice = choose(machine, tuning=tuning, focus=focus, only=only)
        for episode in episodes(seed, choice, full_seconds=full_seconds, reports=reports):
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
