"""Adds up, report by report, how surely ranks are slower than they should be: a sequential test (CUSUM).

Two sums are kept for each rank, because a large slow-down shall be found within a few reports and a small one needs
more. Both grow with slow reports, shrink with all others, and never fall below zero:

- *quick*: the log-likelihood of clearly slow reports. A slow report counts for no more than it is rare among the
  reports of this rank, so single long steps, however long, prove nothing. Five in a row are enough if slow reports are
  as rare as one in fifty; where they are frequent, more are needed.
- *steady*: the excess beyond the least shift. It finds shifts that are too small for the first sum.

A phase that passed after it was named may come back; it must then last longer than before to be named again.
"""

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.subject import Subjects
from flyball_collector.diagnosis.subject_arrays import SubjectArrays

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Places = NDArray[np.int64]

_RARE = 0.02
"""The least share of slow reports that is assumed of a rank: pauses for memory, files or the scheduler."""

_MOST_OFTEN = 0.3
_OFTEN_MEMORY = 512  # reports over which this share is learnt
_NAMES_AT = -4.5 * np.log(_RARE)  # four and a half reports that are as rare as this
_CAP = 1.5  # times the sum that names; so a rank that recovers is cleared after as many reports

_SLOW, _CLEARLY_SLOW = 1.3, 2.6
"""Times the least shift: below the first a report is not slow, from the second on it counts in full."""

_NOISES, _CLEAR_NOISES = 2.5, 4.0
"""The same in spreads of the rank's own reports."""

_STEADY_SUM = 0.8
"""The steady sum that names a rank, in logarithms: sixteen reports of a rank that is 1.2 times as slow."""

_STEADY_BEYOND = 0.007  # beyond the least shift
_SPREADS = 4.0  # or beyond this many spreads of what ranks differ anyway
_MOST_EXCESS = 0.25  # of one report, in the steady sum
_NATS = 11.0  # the sum grows with the variance, so that noise alone does not reach it (e^-22)

_NOISE_MEMORY = 64  # reports
_FIRST_NOISE = 0.03

_LONGEST_PHASE = 64  # reports; what passes after a longer time was not a phase of the training
_RETURNS = 1.5  # a phase that comes back may last this much longer than before
_REMEMBERED = 8640  # reports: a day at one report every ten seconds


class SlowEvidence:
    """Follows the ranks of all runs: `take` what their reports exceed, then read which are `named`."""

    def __init__(self, least: float) -> None:
        """Set the least shift of the logarithm that matters."""
        self._least = least
        self._kept = SubjectArrays(
            quick=0.0,
            steady=0.0,
            often=_RARE,  # share of slow reports
            noise=_FIRST_NOISE,  # spread of single reports
            reports=0,  # since the evidence began
            slow=0,  # slow reports among them
            excess=0.0,  # the sum of what they exceed
            named=False,
            phase=0,  # reports of the last phase that passed …
            passed=0,  # … and reports since then
        )

    def align(self, to: Subjects) -> None:
        """Follow changes of the ranks."""
        self._kept.align(to)

    @property
    def named(self) -> Flags:
        """Return the ranks that are slow."""
        return self._kept["named"].copy()

    @property
    def excess(self) -> Floats:
        """Return the mean excess of these reports, a logarithm; NaN without evidence."""
        reports = self._kept["reports"]
        return np.where(reports > 0, self._kept["excess"] / np.maximum(reports, 1), np.nan)

    @property
    def calm(self) -> Flags:
        """Return the ranks without any evidence."""
        return (self._kept["quick"] <= 0) & (self._kept["steady"] <= 0)

    def forget(self, places: Places) -> None:
        """Drop the evidence against these ranks."""
        for name in ("quick", "steady", "excess"):
            self._kept[name][places] = 0.0
        for name in ("reports", "slow", "phase"):
            self._kept[name][places] = 0
        self._kept["named"][places] = False

    def take(self, excess: Floats, spread: Floats | None = None) -> None:
        """Take one report of each rank: how much it exceeds what is expected, a logarithm; NaN: no report.

        `spread`: how much ranks differ anyway, if that is more than what their own reports vary.
        """
        kept, known = self._kept, ~np.isnan(excess)
        kept["passed"] += known
        suspect = known & (~self.calm | (excess > self._least))
        self._learn_usual(known & ~suspect, excess)
        some = np.flatnonzero(suspect)
        if not len(some):
            return
        now = excess[some]
        slow, names = self._add(some, now, np.zeros(len(some)) if spread is None else spread[some])
        lasted, before = kept["reports"][some], kept["slow"][some]
        on = (kept["quick"][some] > 0) | (kept["steady"][some] > 0)
        self._count(some, now, slow, on)
        self._learn(some[~on], now[~on], lasted[~on], (before + slow)[~on])
        kept["named"][some] = on & (kept["named"][some] | (names & self._lasts(some)))

    def _add(self, places: Places, now: Floats, spread: Floats) -> tuple[Flags, Flags]:
        """Add to both sums. Return which reports are slow, and where a sum is large enough to name the rank."""
        kept, noise = self._kept, np.fmax(self._kept["noise"][places], spread)
        low = np.maximum(_SLOW * self._least, _NOISES * noise)
        high = np.maximum(np.maximum(_CLEARLY_SLOW * self._least, _CLEAR_NOISES * noise), low + self._least)
        points = np.clip((now - low) / (high - low), 0.0, 1.0)
        quick = kept["quick"][places] - np.log(kept["often"][places]) * np.where(points > 0, points, -1.0)
        kept["quick"][places] = np.clip(quick, 0.0, _CAP * _NAMES_AT)
        expected = np.fmax(self._least + _STEADY_BEYOND, _SPREADS * spread)
        names_at = np.maximum(_STEADY_SUM, _NATS * kept["noise"][places] ** 2 / expected)
        steady = kept["steady"][places] + np.clip(now, -_MOST_EXCESS, np.fmax(_MOST_EXCESS, 2 * expected)) - expected
        kept["steady"][places] = np.clip(steady, 0.0, _CAP * names_at)
        return points > 0, (quick >= _NAMES_AT) | (steady >= names_at)

    def _count(self, places: Places, now: Floats, slow: Flags, on: Flags) -> None:
        """Count the reports of the evidence."""
        kept = self._kept
        kept["reports"][places] = np.where(on, kept["reports"][places] + 1, 0)
        kept["slow"][places] = np.where(on, kept["slow"][places] + slow, 0)
        kept["excess"][places] = np.where(on, kept["excess"][places] + now, 0.0)

    def _learn_usual(self, usual: Flags, excess: Floats) -> None:
        """Learn from ranks without evidence, before and now: most ranks, so no positions are looked up."""
        kept = self._kept
        often, noise = kept["often"], kept["noise"]
        np.copyto(often, np.maximum(often - often / _OFTEN_MEMORY, _RARE), where=usual)
        np.copyto(noise, noise + (_away(excess) - noise) / _NOISE_MEMORY, where=usual)

    def _learn(self, places: Places, now: Floats, lasted: Places, slow: Places) -> None:
        """Learn from ranks without evidence: their noise, how often reports are slow, and phases that passed.

        `lasted` and `slow` are the reports of the evidence that has just gone, and the slow ones among them.
        """
        kept = self._kept
        often = kept["often"][places]
        often = often + (slow - (lasted + 1) * often) / _OFTEN_MEMORY
        kept["often"][places] = np.where(
            kept["named"][places], kept["often"][places], np.clip(often, _RARE, _MOST_OFTEN)
        )
        kept["noise"][places] += (_away(now) - kept["noise"][places]) / _NOISE_MEMORY
        was = kept["named"][places]
        kept["phase"][places] = np.where(was, np.where(lasted <= _LONGEST_PHASE, lasted, 0), kept["phase"][places])
        kept["passed"][places] = np.where(was, 0, kept["passed"][places])

    def _lasts(self, places: Places) -> Flags:
        """Return which ranks have been slow for longer than in the phase before, if that is remembered."""
        kept = self._kept
        again = kept["passed"][places] <= _REMEMBERED
        lasts: Flags = ~again | (kept["reports"][places] >= _RETURNS * kept["phase"][places])
        return lasts


def _away(excess: Floats) -> Floats:
    """Return the spread that each excess suggests: the mean distance of a normal distribution is 0.8 spreads."""
    return np.asarray(np.minimum(np.abs(excess), 0.3) / 0.8)
