"""The steps of one run as its ranks reported them: figures of each rank and of all ranks together."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median_low
from typing import TypeVar

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class CallFigures:
    """The calls to one service."""

    count: int
    seconds: float
    errors: int

    @property
    def seconds_per_call(self) -> float | None:
        """Return the mean duration of a call; unknown without calls, or if the client does not measure them."""
        return self.seconds / self.count if self.count and self.seconds else None


@dataclass(frozen=True, slots=True)
class LevelFigures:
    """The progress of one level of a hierarchical learner. `seconds` is 0 if the client did not measure them."""

    items: float
    seconds: float
    items_per_second: float | None  # by the clock


@dataclass(frozen=True, slots=True)
class StepFigures:
    """The steps of a rank, or of all ranks of a run, over a span of time. `None` is unknown.

    Of a run: `steps`, `step_seconds` and `steps_per_second` are those of its median rank, amounts and calls are sums
    over its ranks, and shares, sections, paused and throttled seconds are means over its ranks.
    """

    steps: int = 0
    tokens: float | None = None
    samples: float | None = None
    step_seconds: float | None = None  # mean duration of a step
    steps_per_second: float | None = None  # by the clock: pauses between steps count
    tokens_per_second: float | None = None
    samples_per_second: float | None = None
    data_wait_share: float | None = None  # share of the steps' time
    device_share: float | None = None  # share of the steps' time in which the device computed, where it was measured
    oom_retries: int | None = None  # steps or slices repeated after running out of memory; unknown: never reported
    paused_seconds: float | None = None  # between the steps
    throttled_seconds: float | None = None
    section_seconds: Mapping[str, float] = field(default_factory=dict)  # by name, per step
    calls: Mapping[str, CallFigures] = field(default_factory=dict)  # by service
    levels: Mapping[str, LevelFigures] = field(default_factory=dict)  # by level


@dataclass(frozen=True, slots=True)
class RankSteps:
    """The newest values of one rank, and its steps. `recent` is about the last minute, at least the last report."""

    rank: int
    host: str
    pid: int  # 0: unknown
    world_size: int
    attempt: int
    step: int  # the last finished one
    at_ns: int  # when the newest report was made
    received_ns: int
    loss: float | None  # finite; unknown while `bad_losses` is not 0
    bad_losses: int  # consecutive reports with a loss that is not finite
    allocated_peak_bytes: int | None
    reserved_peak_bytes: int | None
    dropped: int  # values and names that the client or the collector cut
    recent: StepFigures
    overall: StepFigures  # since the first report


@dataclass(frozen=True, slots=True)
class RunSteps:
    """The steps of a run: the ranks of its newest attempt in order, and all of them together."""

    run: str
    attempt: int
    ranks: tuple[RankSteps, ...]
    recent: StepFigures
    overall: StepFigures


def run_steps(run: str, ranks: Iterable[RankSteps]) -> RunSteps | None:
    """Return the steps of a run from those of its ranks; None if it has none.

    A rank that moved to another host is counted once, and ranks that the newest attempt no longer has are left out.
    """
    newest: dict[int, RankSteps] = {}
    for each in ranks:
        known = newest.get(each.rank)
        if known is None or each.received_ns > known.received_ns:
            newest[each.rank] = each
    if not newest:
        return None
    settling_ns = max(each.received_ns for each in newest.values()) - _SETTLING_NS
    attempt = max(each.attempt for each in newest.values() if each.received_ns > settling_ns)
    kept = tuple(
        newest[rank]
        for rank in sorted(newest)
        if newest[rank].attempt == attempt or newest[rank].received_ns > settling_ns
    )
    return RunSteps(
        run, attempt, kept, together([each.recent for each in kept]), together([each.overall for each in kept])
    )


_SETTLING_NS = 30 * 10**9
"""Ranks of another attempt that reported this recently may still join the newest one. A later job with the name of the
run begins with attempt 0 again, so that the highest number is the newest one only among these."""


def together(figures: Sequence[StepFigures]) -> StepFigures:
    """Return the figures of all ranks of a run from those of each rank."""
    stepped = [each for each in figures if each.steps]
    if not stepped:
        return StepFigures()
    return StepFigures(
        steps=median_low(each.steps for each in stepped),
        tokens=_of_known(sum, (each.tokens for each in stepped)),
        samples=_of_known(sum, (each.samples for each in stepped)),
        step_seconds=_of_known(median_low, (each.step_seconds for each in stepped)),
        steps_per_second=_of_known(median_low, (each.steps_per_second for each in stepped)),
        tokens_per_second=_of_known(sum, (each.tokens_per_second for each in stepped)),
        samples_per_second=_of_known(sum, (each.samples_per_second for each in stepped)),
        data_wait_share=_of_known(_mean, (each.data_wait_share for each in stepped)),
        device_share=_of_known(_mean, (each.device_share for each in stepped)),
        oom_retries=_whole(_of_known(sum, (each.oom_retries for each in stepped))),
        paused_seconds=_of_known(_mean, (each.paused_seconds for each in stepped)),
        throttled_seconds=_of_known(_mean, (each.throttled_seconds for each in stepped)),
        section_seconds=_mean_sections([each.section_seconds for each in stepped]),
        calls={name: _all_calls(found) for name, found in _by_name([each.calls for each in stepped]).items()},
        levels={name: _all_levels(found) for name, found in _by_name([each.levels for each in stepped]).items()},
    )


def _of_known(of: Callable[[list[float]], float], values: Iterable[float | None]) -> float | None:
    """Return a figure of the known values; unknown if there are none."""
    known = [value for value in values if value is not None]
    return of(known) if known else None


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _mean_sections(of_ranks: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the mean seconds of each section over the ranks that report sections: a rank may lack one of them."""
    reporting = [sections for sections in of_ranks if sections]
    return {name: sum(seconds) / len(reporting) for name, seconds in _by_name(reporting).items()}


def _by_name(of_ranks: Sequence[Mapping[str, _T]]) -> dict[str, list[_T]]:
    found: dict[str, list[_T]] = {}
    for named in of_ranks:
        for name, value in named.items():
            found.setdefault(name, []).append(value)
    return found


def _all_calls(calls: Sequence[CallFigures]) -> CallFigures:
    return CallFigures(
        sum(each.count for each in calls), sum(each.seconds for each in calls), sum(each.errors for each in calls)
    )


def _all_levels(levels: Sequence[LevelFigures]) -> LevelFigures:
    rates = _of_known(sum, (each.items_per_second for each in levels))
    return LevelFigures(sum(each.items for each in levels), sum(each.seconds for each in levels), rates)
