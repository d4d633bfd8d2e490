"""The sums of all ranks of a run as arrays: a run of 16,384 ranks is read each second in less than a millisecond."""

from bisect import bisect_left
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flyball_collector.fleet.ranks import Ranks
from flyball_collector.fleet.run_steps import RunSteps

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

_NAMES = (
    "attempt",
    "received",
    "steps",
    "step_seconds",
    "tokens",
    "samples",
    "step",
    "at",
    "allocated_peak_bytes",
    "bad_losses",
)
_SETTLING_SECONDS = 30.0
"""Ranks of another attempt that reported this recently may still join the newest one, as in `run_steps`."""

_MORE_THAN_RANKS = 2**32
_SECOND = 10**9


@dataclass(frozen=True, slots=True, eq=False)
class RankColumns:
    """The ranks of the newest attempt of a run, in order. Sums are those since the first report; NaN is unknown."""

    attempt: int
    ranks: Floats
    steps: Floats
    seconds: Floats  # sums of the steps' durations
    tokens: Floats
    samples: Floats
    step: Floats  # the last finished one
    at: Floats  # seconds, when the newest report was made
    peak_bytes: Floats
    bad_losses: Floats


class RankTable:
    """Reads the fleet's table of ranks. All runs of one instant share one reading."""

    def __init__(self, ranks: Ranks) -> None:
        self._ranks = ranks
        self._columns: dict[str, Floats] = {}
        self._read_ns = -1

    def of(self, run: str, now_ns: int) -> RankColumns | None:
        """Return the ranks of a run; None if none of them has reported steps."""
        if now_ns != self._read_ns:
            self._ranks.settle()
            self._columns = {name: self._ranks.column(name) for name in _NAMES}
            self._read_ns = now_ns
        keys = self._ranks.keys
        first, end = bisect_left(keys, (run,)), bisect_left(keys, (run, _MORE_THAN_RANKS))
        if first == end:
            return None
        numbers = np.array([key.rank for key in keys[first:end]], dtype=np.float64)
        found = {name: column[first:end] for name, column in self._columns.items()}
        kept = _of_newest_attempt(numbers, found["attempt"], found["received"])
        chosen = {name: column[kept] for name, column in found.items()}
        return RankColumns(
            attempt=int(chosen["attempt"].max()),
            ranks=numbers[kept],
            steps=chosen["steps"],
            seconds=chosen["step_seconds"],
            tokens=chosen["tokens"],
            samples=chosen["samples"],
            step=chosen["step"],
            at=chosen["at"],
            peak_bytes=chosen["allocated_peak_bytes"],
            bad_losses=chosen["bad_losses"],
        )


def _of_newest_attempt(ranks: Floats, attempt: Floats, received: Floats) -> NDArray[np.int64]:
    """Return the places of the newest report of each rank, without ranks that the newest attempt no longer has."""
    order = np.lexsort((received, ranks))
    newest = order[np.append(ranks[order][1:] != ranks[order][:-1], True)]
    settling = received[newest] > received[newest].max() - _SETTLING_SECONDS
    present = attempt[newest] == attempt[newest][settling].max()
    kept: NDArray[np.int64] = newest[settling | present]
    return kept


def columns_of(run: RunSteps) -> RankColumns:
    """Return the same from the steps of a run."""

    def column(values: list[float | None]) -> Floats:
        return np.array([np.nan if value is None else value for value in values], dtype=np.float64)

    ranks = run.ranks
    return RankColumns(
        attempt=run.attempt,
        ranks=column([rank.rank for rank in ranks]),
        steps=column([rank.overall.steps for rank in ranks]),
        seconds=column([(rank.overall.step_seconds or 0.0) * rank.overall.steps for rank in ranks]),
        tokens=column([rank.overall.tokens for rank in ranks]),
        samples=column([rank.overall.samples for rank in ranks]),
        step=column([rank.step for rank in ranks]),
        at=column([rank.at_ns / _SECOND for rank in ranks]),
        peak_bytes=column([rank.allocated_peak_bytes for rank in ranks]),
        bad_losses=column([rank.bad_losses for rank in ranks]),
    )
