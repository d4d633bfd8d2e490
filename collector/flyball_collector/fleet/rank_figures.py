"""Computes the figures of ranks from their rows in the table of ranks."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from flyball_collector.fleet.named_sums import Named
from flyball_collector.fleet.rank_details import MARKED, NamedDetails, RankDetails
from flyball_collector.fleet.rank_sums import RankSums
from flyball_collector.fleet.run_steps import CallFigures, LevelFigures, RankSteps, StepFigures

RECENT_SECONDS = 60.0
_LONG_STEPS = 3.0
"""Recent figures are given for a minute after a rank's newest report, or for so many of its steps."""

_SECOND = 10**9
_NEWEST = (
    "pid",
    "world_size",
    "attempt",
    "step",
    "received",
    "loss",
    "bad_losses",
    "allocated_peak_bytes",
    "reserved_peak_bytes",
    "dropped",
    "begun",
)
_COLUMNS = (*_NEWEST, *MARKED)

Values = Mapping[str, float]


def rank_steps(
    keys: Sequence[tuple[str, int, str]], rows: NDArray[np.int64], sums: RankSums, details: RankDetails, now: float
) -> list[RankSteps]:
    """Return the newest values and the steps of some ranks, given by run, rank and host."""
    overall = {name: sums[name][rows].tolist() for name in _COLUMNS}
    before = {name: details.before(name, rows) for name in MARKED}
    named = details.named(rows.tolist())
    found = []
    for place, (_, rank, host) in enumerate(keys):
        newest = {name: column[place] for name, column in overall.items()}
        older = {name: column[place] for name, column in before.items()}
        found.append(_rank_steps(rank, host, newest, older, named[place], now))
    return found


def _rank_steps(rank: int, host: str, newest: Values, older: Values, named: NamedDetails, now: float) -> RankSteps:
    overall = _figures(newest, {}, named)
    shown_seconds = max(RECENT_SECONDS, _LONG_STEPS * (overall.step_seconds or 0.0))
    return RankSteps(
        rank=rank,
        host=host,
        pid=int(newest["pid"]),
        world_size=int(newest["world_size"]),
        attempt=int(newest["attempt"]),
        step=int(newest["step"]),
        at_ns=round(newest["at"] * _SECOND),
        received_ns=round(newest["received"] * _SECOND),
        loss=_known(newest["loss"]),
        bad_losses=int(newest["bad_losses"]),
        allocated_peak_bytes=_whole(newest["allocated_peak_bytes"]),
        reserved_peak_bytes=_whole(newest["reserved_peak_bytes"]),
        dropped=int(newest["dropped"]),
        recent=_figures(newest, older, named) if now - newest["at"] <= shown_seconds else StepFigures(),
        overall=overall,
    )


def _figures(newest: Values, older: Values, named: NamedDetails) -> StepFigures:
    """Return the figures since the older values; without them, those since the rank's first report."""

    def grown(name: str) -> float | None:
        return _known(newest[name] - older.get(name, 0.0))

    recent = bool(older)
    clock = newest["at"] - (older.get("at", 0.0) or newest["begun"])
    steps, seconds, tokens, samples = grown("steps"), grown("step_seconds"), grown("tokens"), grown("samples")
    if not steps:
        return StepFigures()
    return StepFigures(
        steps=int(steps),
        tokens=tokens,
        samples=samples,
        step_seconds=_ratio(seconds, steps),
        steps_per_second=_ratio(steps, clock),
        tokens_per_second=_ratio(tokens, clock),
        samples_per_second=_ratio(samples, clock),
        data_wait_share=_ratio(grown("data_wait_seconds"), seconds, most=1.0),
        device_share=_ratio(grown("device_seconds"), grown("device_covered_seconds"), most=1.0),
        oom_retries=_whole_sum(grown("oom_retries")),
        paused_seconds=grown("paused_seconds"),
        throttled_seconds=grown("throttled_seconds"),
        section_seconds=_sections(named.sections, grown("named_steps"), recent),
        calls=_calls(named.calls, recent),
        levels=_levels(named.levels, clock, recent),
    )


def _sections(named: Mapping[str, Named], steps: float | None, recent: bool) -> dict[str, float]:
    found = {name: _amounts(sums, recent)[0] for name, sums in named.items()} if steps else {}
    return {name: seconds / steps for name, seconds in found.items() if seconds and steps}


def _calls(named: Mapping[str, Named], recent: bool) -> dict[str, CallFigures]:
    found = {name: _amounts(sums, recent) for name, sums in named.items()}
    return {
        name: CallFigures(int(count), seconds, int(errors))
        for name, (count, seconds, errors) in found.items()
        if count or errors
    }


def _levels(named: Mapping[str, Named], clock: float, recent: bool) -> dict[str, LevelFigures]:
    found = {name: _amounts(sums, recent) for name, sums in named.items()}
    return {
        name: LevelFigures(items, seconds, _ratio(items, clock))
        for name, (items, seconds) in found.items()
        if items or seconds
    }


def _amounts(sums: Named, recent: bool) -> list[float]:
    return sums.recent if recent else sums.overall


def _ratio(part: float | None, whole: float | None, most: float = math.inf) -> float | None:
    """Return a rate or a share; unknown if a part is unknown or nothing was measured."""
    return min(most, part / whole) if part is not None and whole is not None and whole > 0 else None


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value


def _whole_sum(value: float | None) -> int | None:
    return None if value is None else int(value)


def _whole(value: float) -> int | None:
    return None if math.isnan(value) else int(value)
