"""Diagnose a recorded episode by replaying it through the product's own path."""

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
from tests.benchmarks.labelled.as_reported import AsReported, as_reported
from tests.benchmarks.labelled.episode import Recorded
from tests.benchmarks.labelled.record import HOST, read, without_reports

GRACE_SECONDS = 1.0
"""The readings of a second arrive at its end."""

NO_BLAME_BELOW = 0.5
"""The base formula always has a largest score; below this its answer counts as "nothing"."""


class Blame(msgspec.Struct, frozen=True):
    """The confidence of one kind at the end of the full phase."""

    kind: str
    confidence: float
    log_odds: float | None = None  # raw: what calibration is fitted to


class Verdict(msgspec.Struct, frozen=True):
    """The diagnosis of one episode."""

    primary: str  # the active bottleneck with the largest score; empty: none
    active: tuple[Blame, ...]
    ever: tuple[str, ...]  # bottlenecks that were raised at any time
    before: tuple[str, ...]  # bottlenecks that were raised before the causes were on
    raised_after: Mapping[str, float]  # seconds from when the causes were on
    base: str  # the base formula's primary; empty where nothing reaches NO_BLAME_BELOW
    base_scores: Mapping[str, float]
    weighed: tuple[Blame, ...] = ()  # every bottleneck with a known probability, active or not


def diagnose(
    recorded: Recorded, spool: Path, settings: DiagnosisSettings | None = None, reports: AsReported = "recorded"
) -> Verdict:
    """Play one episode and look at the end of its full phase.

    Without reports, the recording of the agent that knew of no run is played if there is one.
    """
    alone = without_reports(spool)
    if reports == "none" and alone.exists():
        spool, reports = alone, "recorded"
    recording = read(spool)
    for tick in recording.ticks if reports != "recorded" else ():
        tick.extras, tick.parsed_extras = as_reported(tick.extras, reports), None
    player = Player(recording, settings)
    events: list[Event] = []
    primary, active, weighed, base = "", tuple[Blame, ...](), tuple[Blame, ...](), dict[str, float]()
    for ticks, played in player.play():
        events += [event for event in played if event.kind.group is Group.BOTTLENECK]
        if ticks[-1].corrected_ns / 1e9 <= recorded.ended + GRACE_SECONDS:
            active, weighed = _active(player), _weighed(player)
            primary = _first(player, active)
            base = _base_scores(player)
    raised = [event for event in events if event.state is State.RAISED]
    after: dict[str, float] = {}
    for event in raised:
        if event.time_ns / 1e9 >= recorded.began:
            after.setdefault(event.kind.name, event.time_ns / 1e9 - recorded.began)
    return Verdict(
        primary,
        active,
        tuple(dict.fromkeys(event.kind.name for event in raised)),
        tuple(dict.fromkeys(event.kind.name for event in raised if event.time_ns / 1e9 < recorded.began)),
        after,
        base_primary(base),
        base,
        weighed,
    )


def primaries(recorded: Recorded, spool: Path, settings: DiagnosisSettings | None = None) -> tuple[str, ...]:
    """Return the primary bottleneck at each change while the load was on; an empty string means none."""
    player, found = Player(read(spool), settings), [""]
    for ticks, _ in player.play():
        if not recorded.began <= ticks[-1].corrected_ns / 1e9 <= recorded.ended:
            continue
        primary = _primary(player)
        if primary != found[-1]:
            found.append(primary)
    return tuple(found[1:])


def _active(player: Player) -> tuple[Blame, ...]:
    """Return the active bottlenecks with their latest confidence instead of that of their events.

    One that is only kept raised because it comes and goes is not there at this moment.
    """
    found = []
    for active in player.diagnosis.conditions.active_of(HOST):
        if active.kind.group is Group.BOTTLENECK and not active.absent:
            raised = Blame(active.kind.name, active.event.confidence, active.event.evidence.get("log_odds"))
            found.append(_claimed(player, active.kind.name, active.subject) or raised)
    return tuple(sorted(found, key=lambda one: one.kind))


def _weighed(player: Player) -> tuple[Blame, ...]:
    """Return the latest confidence of each bottleneck of the host itself."""
    found = (_claimed(player, kind.name, Subject(HOST)) for kind in KINDS if kind.group is Group.BOTTLENECK)
    return tuple(blame for blame in found if blame is not None)


def _claimed(player: Player, kind: str, subject: Subject) -> Blame | None:
    """Return the latest confidence of a kind, or None if it is unknown."""
    claims = player.diagnosis.conditions.latest(kind)
    place = claims.subjects.places.get(subject) if claims is not None else None
    if claims is None or place is None or (claims.known is not None and not claims.known[place]):
        return None
    return Blame(kind, float(claims.confidence[place]), at(claims.evidence.get("log_odds"), place))


def _first(player: Player, active: Collection[Blame]) -> str:
    """Return the active bottleneck with the largest score."""
    table = table_of(player.diagnosis)
    if table is None or not active:
        return ""
    scores = {blame.kind: table.scores.get(blame.kind.removeprefix("bottleneck_")) for blame in active}
    return max(scores, key=lambda kind: _number(scores[kind]))


def _number(values: Floats | None) -> float:
    return float(np.nan_to_num(values[0])) if values is not None else 0.0


def _primary(player: Player) -> str:
    """Return the primary bottleneck that the product shows."""
    table = table_of(player.diagnosis)
    return table.primary(0) if table is not None and len(table.hosts) else ""


def _base_scores(player: Player) -> dict[str, float]:
    table = table_of(player.diagnosis)
    if table is None or not len(table.hosts):
        return {}
    return {name: float(values[0]) for name, values in table.base.items() if np.isfinite(values[0])}


def base_primary(scores: Mapping[str, float]) -> str:
    """Return the resource with the largest base score, or an empty string if no score is large enough."""
    largest = max(scores, key=lambda name: scores[name], default="")
    return largest if largest and scores[largest] >= NO_BLAME_BELOW else ""
