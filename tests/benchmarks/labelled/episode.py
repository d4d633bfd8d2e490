"""One episode: a loop with and without its causes, recorded by the agent's probes, labelled by its own speed."""

import os
import random
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from tests.benchmarks.labelled.causes.catalogue import BY_NAME
from tests.benchmarks.labelled.causes.generator import Generator
from tests.benchmarks.labelled.label import Label, Phase, Use, label
from tests.benchmarks.labelled.others import cpu_use, others_ratio
from tests.benchmarks.labelled.plan import LoopPlan, Reports, SourcePlan
from tests.benchmarks.labelled.record import Recorder
from tests.benchmarks.labelled.scene import Child, Draw, Scene, start_loop
from tests.benchmarks.labelled.surroundings import Ports
from tests.benchmarks.labelled.trace import read_trace, speed

WARM_SECONDS = 0.4  # after the first step
FREE_SECONDS = 2.2
FULL_SECONDS = 10.0
PART_SECONDS = 2.2
SETTLE_SECONDS = 0.5
"""After a switch the loop's speed is not counted for so long: caches fill, processes start and end."""

FIRST_STEP_SECONDS = 15.0

OTHERS_RATIO = 0.1
"""Beside more work that is not ours, no label would hold: that work may be the true bottleneck."""


class Episode(msgspec.Struct, frozen=True):
    """One episode to record; the seed decides everything that is drawn."""

    name: str
    seed: int
    generators: tuple[str, ...]
    full_seconds: float = FULL_SECONDS
    reports: Reports = "client"


class Recorded(msgspec.Struct, frozen=True):
    """An episode that was recorded; its readings lie beside it as `NAME.spool`."""

    name: str
    seed: int
    generators: tuple[str, ...]
    causes: tuple[str, ...]  # classes
    tuned: bool
    truth: tuple[tuple[str, ...], ...]  # kinds that are right, of each cause; empty where there was none
    strengths: tuple[str, ...]
    phases: tuple[Phase, ...]
    label: Label
    began: float  # wall time at which the causes were on
    ended: float  # … and no longer all on
    others_ratio: float = 0.0  # share of all cores that went to work that is not the bench's, meanwhile
    reports: Reports = "client"


class Stage:
    """The parts that stay from episode to episode: recorder, servers, data set."""

    def __init__(self, folder: Path, recorder: Recorder, weather: Child, ports: Ports, socket_path: Path) -> None:
        self.folder = folder
        self.recorder = recorder
        self._weather = weather
        self._ports = ports
        self._socket = socket_path

    def play(self, episode: Episode, out: Path) -> Recorded:
        """Record one episode into a folder."""
        rng = random.Random(episode.seed)
        draws = {name: _draw(name, len(episode.generators), rng) for name in episode.generators}
        trace = self.folder / "steps.trace"
        plan = self._plan(episode, draws, rng, trace)
        trace.unlink(missing_ok=True)
        scene = Scene(self.folder, self._ports, self._weather)
        try:
            start_loop(scene, plan, [need for draw in draws.values() for need in draw.switch.needs])
            _await_steps(trace, scene)
            time.sleep(WARM_SECONDS)
            self.recorder.begin()
            spans, others = self._act(episode, draws, scene)
        finally:
            scene.close()
            self.recorder.end(out / f"{episode.name}.spool")
        recorded = _judge(episode, draws, spans, others, trace)
        trace.replace(out / f"{episode.name}.steps")
        (out / f"{episode.name}.json").write_bytes(msgspec.json.format(msgspec.json.encode(recorded)))
        return recorded

    def _plan(self, episode: Episode, draws: Mapping[str, Draw], rng: random.Random, trace: Path) -> LoopPlan:
        sources = tuple(draw.source for draw in draws.values() if draw.source is not None)
        batch, hidden = rng.choice((256, 512)), rng.choice((512, 768, 1024))
        plan = LoopPlan(
            run=f"run-{episode.name}",
            socket=str(self._socket),
            trace=str(trace),
            folder=str(self.folder),
            seed=episode.seed,
            batch=batch,
            hidden=hidden,
            sources=sources or (SourcePlan("memory"),),
            host=self._ports.host,
            data_port=self._ports.data,
            service_port=self._ports.service,
            resolver_port=self._ports.resolver,
            reports=episode.reports,
        )
        changes = {key: value for draw in draws.values() for key, value in draw.loop.items()}
        return msgspec.structs.replace(plan, **changes)

    def _act(self, episode: Episode, draws: Mapping[str, Draw], scene: Scene) -> tuple[list[Phase], float]:
        """Free, full, then without one cause after the other; alone a cause is followed by freedom again."""
        names = episode.generators
        quiet = all(BY_NAME[name].quiet for name in names)
        phases = [_span((), FREE_SECONDS)]
        for name in names:
            draws[name].switch.on(scene)
        before = cpu_use()
        phases.append(_span(names, episode.full_seconds))
        others = others_ratio(before, cpu_use(), os.cpu_count() or 1)
        for name in names if len(names) > 1 else ():
            draws[name].switch.off(scene)
            phases.append(_span(tuple(other for other in names if other != name), PART_SECONDS))
            if name is not names[-1]:
                draws[name].switch.on(scene)
        if len(names) == 1 or quiet:
            for name in names:
                draws[name].switch.off(scene)
            phases.append(_span((), PART_SECONDS))
        return phases, others


def _draw(name: str, of: int, rng: random.Random) -> Draw:
    generator = BY_NAME[name]
    draw = generator.draw_mixed if of > 1 and generator.draw_mixed is not None else generator.draw
    return draw(rng)


def _span(on: Sequence[str], seconds: float) -> Phase:
    began = time.time()
    time.sleep(seconds)
    return Phase(began, time.time(), tuple(on))


def _await_steps(trace: Path, scene: Scene) -> None:
    """Until the loop has made its first steps."""
    deadline = time.monotonic() + FIRST_STEP_SECONDS
    assert scene.loop is not None
    while not (trace.exists() and trace.stat().st_size):
        if scene.loop.process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError("the training loop does not begin")
        time.sleep(0.05)


def _judge(episode: Episode, draws: Mapping[str, Draw], spans: Sequence[Phase], others: float, trace: Path) -> Recorded:
    ends = read_trace(trace)
    phases = tuple(
        msgspec.structs.replace(span, steps_per_second=speed(ends, span.begin + SETTLE_SECONDS, span.end))
        for span in spans
    )
    generators = [BY_NAME[name] for name in episode.generators]
    verdict = _verdict(generators, phases, others)
    full = phases[1]
    return Recorded(
        episode.name,
        episode.seed,
        episode.generators,
        tuple(generator.cause for generator in generators),
        all(generator.tuned for generator in generators),
        _truth(generators, verdict),
        tuple(draw.strength for draw in draws.values()),
        phases,
        verdict,
        full.begin,
        full.end,
        others,
        episode.reports,
    )


def judged_again(recorded: Recorded) -> Recorded:
    """The same recording under today's rules for labels."""
    generators = [BY_NAME[name] for name in recorded.generators]
    verdict = _verdict(generators, recorded.phases, recorded.others_ratio)
    return msgspec.structs.replace(recorded, label=verdict, truth=_truth(generators, verdict))


def _verdict(generators: Sequence[Generator], phases: Sequence[Phase], others: float) -> Label:
    quiet = all(generator.quiet for generator in generators)
    verdict = label([generator.name for generator in generators], phases, meant_quiet=quiet)
    if others > OTHERS_RATIO:
        return Label(Use.DROPPED, f"others used {others:.0%} of the machine", verdict.gains)
    if verdict.use is Use.QUIET and not quiet:  # such a loop waits by itself, if less than a tenth more
        return Label(Use.DROPPED, "harmless", verdict.gains)
    return verdict


def _truth(generators: Sequence[Generator], verdict: Label) -> tuple[tuple[str, ...], ...]:
    harmful = verdict.use in {Use.SINGLE, Use.MIXED}
    return tuple(generator.truth for generator in generators) if harmful else ()
