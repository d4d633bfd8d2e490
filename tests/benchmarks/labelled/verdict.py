"""What the diagnosis says of a recorded episode: the product's own path, replayed."""

from collections.abc import Collection, Mapping
from pathlib import Path

import msgspec
import numpy as np

from flyball_collector.diagnosis.claims import Floats, at
from flyball_collector.diagnosis.event import Event, State
from flyball_collector.diagnosis.kinds import KINDS, Group
from flyball_collector.diagnosis.scores.score_table import table_of
from flyball_collector.diagnosis.subject import Subject
from flyball_collector.engine.player import Player
from flyball_collector.engine.settings import DiagnosisSettings
from tests.benchmarks.labelled.episode import Recorded
from tests.benchmarks.labelled.record import HOST, read

GRACE_SECONDS = 1.0
"""Readings of a second come at its end."""

NO_BLAME_BELOW = 0.5
"""The base formula always has a largest score; below this its answer counts as "nothing"."""


class Said(msgspec.Struct, frozen=True):
    """How probable one kind was when the causes had been on for their whole time."""

    kind: str
    confidence: float
    log_odds: float | None = None  # raw: what calibration is fitted to


class Verdict(msgspec.Struct, frozen=True):
    """The diagnosis of one episode."""

    primary: str  # of those that stood, the one with the largest score; empty: nothing
    stood: tuple[Said, ...]
    ever: tuple[str, ...]  # bottlenecks that were raised at any time
    before: tuple[str, ...]  # … before the causes were on
    raised_after: Mapping[str, float]  # seconds from when the causes were on
    base: str  # the base formula's primary; empty where nothing reaches NO_BLAME_BELOW
    base_scores: Mapping[str, float]
    weighed: tuple[Said, ...] = ()  # every bottleneck of which something was known, whether it stood or not


def diagnose(recorded: Recorded, spool: Path, settings: DiagnosisSettings | None = None) -> Verdict:
    """Play one episode and look at the end of its full phase."""
    player = Player(read(spool), settings)
    events: list[Event] = []
    primary, stood, weighed, base = "", tuple[Said, ...](), tuple[Said, ...](), dict[str, float]()
    for ticks, told in player.play():
        events += [event for event in told if event.kind.group is Group.BOTTLENECK]
        if ticks[-1].corrected_ns / 1e9 <= recorded.ended + GRACE_SECONDS:
            stood, weighed = _active(player), _weighed(player)
            primary = _first(player, stood)
            base = _base_scores(player)
    raised = [event for event in events if event.state is State.RAISED]
    after: dict[str, float] = {}
    for event in raised:
        if event.time_ns / 1e9 >= recorded.began:
            after.setdefault(event.kind.name, event.time_ns / 1e9 - recorded.began)
    return Verdict(
        primary,
        stood,
        tuple(dict.fromkeys(event.kind.name for event in raised)),
        tuple(dict.fromkeys(event.kind.name for event in raised if event.time_ns / 1e9 < recorded.began)),
        after,
        base_primary(base),
        base,
        weighed,
    )


def primaries(recorded: Recorded, spool: Path, settings: DiagnosisSettings | None = None) -> tuple[str, ...]:
    """What was blamed most while the load was on, each time that this changed; an empty word: nothing any more."""
    player, found = Player(read(spool), settings), [""]
    for ticks, _ in player.play():
        if not recorded.began <= ticks[-1].corrected_ns / 1e9 <= recorded.ended:
            continue
        primary = _primary(player)
        if primary != found[-1]:
            found.append(primary)
    return tuple(found[1:])


def _active(player: Player) -> tuple[Said, ...]:
    """Bottlenecks that stand, with what was last claimed of them rather than what was told when they were raised."""
    said = []
    for active in player.diagnosis.conditions.active_of(HOST):
        if active.kind.group is Group.BOTTLENECK:
            told = Said(active.kind.name, active.event.confidence, active.event.evidence.get("log_odds"))
            said.append(_claimed(player, active.kind.name, active.subject) or told)
    return tuple(sorted(said, key=lambda one: one.kind))


def _weighed(player: Player) -> tuple[Said, ...]:
    """Bottlenecks of the host itself."""
    found = (_claimed(player, kind.name, Subject(HOST)) for kind in KINDS if kind.group is Group.BOTTLENECK)
    return tuple(said for said in found if said is not None)


def _claimed(player: Player, kind: str, subject: Subject) -> Said | None:
    """What was last claimed of a kind; nothing where nothing was known."""
    claims = player.diagnosis.conditions.latest(kind)
    place = claims.subjects.places.get(subject) if claims is not None else None
    if claims is None or place is None or (claims.known is not None and not claims.known[place]):
        return None
    return Said(kind, float(claims.confidence[place]), at(claims.evidence.get("log_odds"), place))


def _first(player: Player, stood: Collection[Said]) -> str:
    """What stands with the largest score."""
    table = table_of(player.diagnosis)
    if table is None or not stood:
        return ""
    scores = {said.kind: table.scores.get(said.kind.removeprefix("bottleneck_")) for said in stood}
    return max(scores, key=lambda kind: _number(scores[kind]))


def _number(values: Floats | None) -> float:
    return float(np.nan_to_num(values[0])) if values is not None else 0.0


def _primary(player: Player) -> str:
    """What the product shows as the primary bottleneck."""
    table = table_of(player.diagnosis)
    return table.primary(0) if table is not None and len(table.hosts) else ""


def _base_scores(player: Player) -> dict[str, float]:
    table = table_of(player.diagnosis)
    if table is None or not len(table.hosts):
        return {}
    return {name: float(values[0]) for name, values in table.base.items() if np.isfinite(values[0])}


def base_primary(scores: Mapping[str, float]) -> str:
    """The base formula's answer: the largest score, if it is large enough to mean anything."""
    largest = max(scores, key=lambda name: scores[name], default="")
    return largest if largest and scores[largest] >= NO_BLAME_BELOW else ""
