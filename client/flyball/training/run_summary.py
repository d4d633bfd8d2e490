"""The summary of a run in this process: rates, time remaining, parts of the step, and what limits it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from flyball.training.agent_socket import candidates

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flyball.training.figures import Figures
    from flyball.training.progress import Progress, Second
    from flyball.training.protocols import RunFacts

_SECOND = 1e-9
_DEVIATIONS = 2.0  # 95 % of a normal distribution
_LEAST_SECONDS = 5  # reports, before an interval of the time remaining is given


@dataclass(frozen=True, slots=True)
class StepRates:
    """Amounts a second, and the mean time of a step. None is unknown."""

    step_seconds: float | None = None
    steps_per_second: float | None = None
    tokens_per_second: float | None = None
    samples_per_second: float | None = None
    data_wait_share: float | None = None


@dataclass(frozen=True, slots=True)
class ServiceCalls:
    """The calls to one service."""

    count: int
    seconds_per_call: float
    errors: int


@dataclass(frozen=True, slots=True)
class TrainingSummary:
    """The progress of one rank. None is unknown."""

    run: str
    rank: int
    world_size: int
    attempt: int
    step: int
    total_steps: int | None
    seconds: float  # since the run was opened
    recent: StepRates  # over the last minute
    overall: StepRates  # over all steps
    remaining_seconds: float | None
    remaining_low_seconds: float | None
    remaining_high_seconds: float | None
    loss: float | None
    sections: dict[str, float] = field(default_factory=dict)  # seconds a step
    calls: dict[str, ServiceCalls] = field(default_factory=dict)
    levels: dict[str, float] = field(default_factory=dict)  # items a second
    allocated_peak_bytes: int | None = None
    reserved_peak_bytes: int | None = None
    primary_bottleneck: str = ""  # the part that takes the largest share of the step; empty: not known yet
    bottleneck_share: float | None = None
    dropped: int = 0  # values and names that were not valid
    connected: bool = False  # to the agent
    not_reported: str = ""  # why no agent knows of the run; empty if one does

    def __str__(self) -> str:
        """Return the summary as text of a few lines."""
        return "\n".join(_lines(self))


def summarize(run: RunFacts, progress: Progress, now: int) -> TrainingSummary:
    """Return the summary of a run."""
    overall, seconds = progress.overall, progress.recent_seconds(now)
    bottleneck, share = _bottleneck(overall)
    low, remaining, high = _remaining(run, overall, seconds)
    return TrainingSummary(
        run=run.name,
        rank=run.rank,
        world_size=run.world_size,
        attempt=run.attempt,
        step=run.last_step,
        total_steps=run.total_steps,
        seconds=(now - progress.started) * _SECOND,
        recent=_rates_of(seconds),
        overall=_rates(overall.steps, overall.nanoseconds, overall.tokens, overall.samples, overall.wait),
        remaining_seconds=remaining,
        remaining_low_seconds=low,
        remaining_high_seconds=high,
        loss=progress.loss,
        sections={name: taken * _SECOND / max(1, overall.steps) for name, taken in overall.sections.items()},
        calls={
            service: ServiceCalls(count, taken * _SECOND / max(1, count), errors)
            for service, (count, taken, errors) in overall.calls.items()
        },
        levels={level: items / seconds for level, (items, seconds) in overall.levels.items() if seconds > 0},
        allocated_peak_bytes=progress.allocated_peak_bytes,
        reserved_peak_bytes=progress.reserved_peak_bytes,
        primary_bottleneck=bottleneck,
        bottleneck_share=share,
        dropped=run.dropped,
        connected=run.connected,
        not_reported=_not_reported(run),
    )


def _not_reported(run: RunFacts) -> str:
    """Return why no agent knows of the run. An agent that was found once is found again."""
    if run.refusal and not run.connected:
        return f"the agent has refused the run: {_error_text(run.refusal)}"
    return "" if run.hellos else f"no agent listens at {' or '.join(candidates())}"


def _error_text(line: str) -> str:
    """Return the text of an answer of the agent, which is one line of JSON and may be cut."""
    try:
        return str(json.loads(line)["error"])
    except (ValueError, KeyError, TypeError):
        return line


def _rates_of(seconds: list[Second]) -> StepRates:
    tokens = [second.tokens for second in seconds if second.tokens is not None]
    samples = [second.samples for second in seconds if second.samples is not None]
    return _rates(
        sum(second.steps for second in seconds),
        sum(second.nanoseconds for second in seconds),
        sum(tokens) if tokens else None,
        sum(samples) if samples else None,
        sum(second.wait for second in seconds),
    )


def _rates(steps: int, nanoseconds: int, tokens: float | None, samples: float | None, wait: int) -> StepRates:
    taken = nanoseconds * _SECOND
    if not steps or taken <= 0:
        return StepRates()
    return StepRates(
        step_seconds=taken / steps,
        steps_per_second=steps / taken,
        tokens_per_second=None if tokens is None else tokens / taken,
        samples_per_second=None if samples is None else samples / taken,
        data_wait_share=min(1.0, wait * _SECOND / taken),
    )


def _remaining(
    run: RunFacts, overall: Figures, seconds: list[Second]
) -> tuple[float | None, float | None, float | None]:
    """Return the time remaining with its interval, from the recent seconds and how much they differ."""
    left, done = _left(run, overall)
    rated = [(_done(second, run), second.nanoseconds * _SECOND) for second in seconds if second.steps]
    amount, taken = sum(each for each, _ in rated), sum(each for _, each in rated)
    if left is None or not done or amount <= 0:
        return None, None, None
    mean = taken / amount
    if len(rated) < _LEAST_SECONDS:
        return None, left * mean, None
    spread = sum((spent - mean * each) ** 2 for each, spent in rated) / (len(rated) - 1)
    error = _DEVIATIONS * (spread * len(rated)) ** 0.5 / amount
    return left * max(0.0, mean - error), left * mean, left * (mean + error)


def _left(run: RunFacts, overall: Figures) -> tuple[float | None, float]:
    """Return how many steps, or else samples, are left, and how many were measured.

    The samples are those of all ranks, which share them.
    """
    if run.total_steps is not None:
        return max(0, run.total_steps - run.last_step), overall.steps
    if run.total_samples is not None and overall.samples is not None:
        return max(0.0, run.total_samples / max(1, run.world_size) - overall.samples), overall.samples
    return None, 0


def _done(second: Second, run: RunFacts) -> float:
    return second.steps if run.total_steps is not None else second.samples or 0.0


def _bottleneck(overall: Figures) -> tuple[str, float | None]:
    """Return the part of the steps that takes most of their time, with its share."""
    if not overall.steps or not overall.nanoseconds:
        return "", None
    parts = dict(overall.sections)
    if overall.waits:
        parts["data wait"] = overall.wait
    parts["other work"] = max(0, overall.nanoseconds - sum(parts.values()))
    name = max(parts, key=parts.__getitem__)
    return name, min(1.0, parts[name] / overall.nanoseconds)


def _lines(summary: TrainingSummary) -> list[str]:
    total = "" if summary.total_steps is None else f" of {summary.total_steps:,}"
    lines = [f"{summary.run}: step {summary.step:,}{total}, rank {summary.rank} of {summary.world_size}"]
    for title, rates in (("recent", summary.recent), ("overall", summary.overall)):
        if rates.step_seconds is not None:
            lines.append(f"  {title}: {_rate_text(rates)}")
    if summary.remaining_seconds is not None:
        lines.append(f"  remaining: {_remaining_text(summary)}")
    if summary.loss is not None:
        lines.append(f"  loss: {summary.loss:.4g}")
    for level, rate in summary.levels.items():
        lines.append(f"  {level}: {rate:,.3g} items/s")
    for service, calls in summary.calls.items():
        errors = f", {calls.errors} errors" if calls.errors else ""
        lines.append(f"  calls to {service}: {calls.count:,}, {calls.seconds_per_call * 1000:.3g} ms each{errors}")
    if summary.bottleneck_share is not None:
        lines.append(f"  largest part: {summary.primary_bottleneck}, {summary.bottleneck_share:.0%} of the step")
    if summary.not_reported:
        lines.append(f"  not reported: {summary.not_reported}")
    return lines


def _rate_text(rates: StepRates) -> str:
    parts = [f"{(rates.step_seconds or 0.0) * 1000:.3g} ms a step"]
    if rates.tokens_per_second is not None:
        parts.append(f"{rates.tokens_per_second:,.0f} tokens/s")
    if rates.samples_per_second is not None:
        parts.append(f"{rates.samples_per_second:,.3g} samples/s")
    if rates.data_wait_share:
        parts.append(f"{rates.data_wait_share:.0%} waiting for data")
    return ", ".join(parts)


def _remaining_text(summary: TrainingSummary) -> str:
    text = _duration(summary.remaining_seconds or 0.0)
    if summary.remaining_low_seconds is None or summary.remaining_high_seconds is None:
        return text
    return f"{text} ({_duration(summary.remaining_low_seconds)} to {_duration(summary.remaining_high_seconds)})"


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = int(seconds // 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"
