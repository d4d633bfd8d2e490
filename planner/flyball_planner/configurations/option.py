"""Options: candidates with a number of tokens that suits the bounds of a kind, and the bounds that each one misses."""

import math
from collections.abc import Callable, Iterator

from msgspec import Struct

from flyball_planner.catalogue.hardware import TrainingMachine
from flyball_planner.configurations.bounds import UNBOUNDED, Bounds, ValueRange
from flyball_planner.configurations.candidates import Candidate
from flyball_planner.configurations.configuration import Missed
from flyball_planner.configurations.power import DutyCycle, duty_cycle
from flyball_planner.interval import Interval
from flyball_planner.timing.training_run import IDLE_SHARE, Habits, device_watts, whole_run
from flyball_reports.figures import count, duration, percent

TOLERANCE = 0.01  # a bound that is missed by less counts as met
NEAR = 0.5  # distances that differ by less than half of this count as equal: a factor of 1.3


class Option(Struct, frozen=True):
    """A candidate with a number of tokens that suits its bounds."""

    candidate: Candidate
    pace: DutyCycle
    tokens: float
    seconds: Interval
    missed: tuple[Missed, ...]  # without reasons, which depend on the other options
    distance: float  # of the missed values from their bounds, as a sum of logarithms

    @property
    def missed_names(self) -> frozenset[str]:
        """Return the names of the missed bounds."""
        return frozenset(each.bound for each in self.missed)


def option_of(bounds: Bounds, machine: TrainingMachine, candidate: Candidate, longest: float) -> Option:
    """Return a candidate with its pauses, tokens and time; the run takes at most `longest` seconds if it can."""
    device = machine.device
    busy = device_watts(device, candidate.mfu) if device.power_watts else None
    paced = duty_cycle(bounds, device, busy, IDLE_SHARE * (device.power_watts or 0.0))
    tokens = _tokens(bounds, machine, candidate, paced, longest)
    seconds = _seconds(machine, candidate, paced, tokens)
    share = candidate.memory.middle / machine.device.memory_bytes
    missed = [
        *_missed(bounds, candidate, tokens, seconds),
        *_missed_power(bounds, paced),
        *_missed_memory(bounds, share),
    ]
    distance = sum(far for _, far in missed)
    return Option(candidate, paced, tokens, seconds, tuple(each for each, _ in missed), distance)


def order(option: Option, longest: float) -> tuple[float, ...]:
    """Rank options: not too long, fewest misses, nearest to the bounds, largest model, longest sequence, fastest.

    If all take too long, the shortest is the best: a run of decades is of no use, even within all other bounds.
    """
    chosen, seconds = option.candidate, option.seconds.middle
    near = round(option.distance / NEAR)
    excess = seconds if seconds > longest else 0.0
    return excess, len(option.missed), near, -chosen.parameters, -chosen.training.sequence, seconds


def _tokens(bounds: Bounds, machine: TrainingMachine, candidate: Candidate, paced: DutyCycle, longest: float) -> float:
    """Return the minimum tokens per parameter of the kind, or more if the run would be too short."""
    least = bounds.tokens_per_parameter.low * candidate.parameters
    middle = _seconds(machine, candidate, paced, least).middle
    longer = min(bounds.seconds.low / middle, longest / middle)
    return max(least, min(least * longer, bounds.tokens_per_parameter.high * candidate.parameters))


def _seconds(machine: TrainingMachine, candidate: Candidate, paced: DutyCycle, tokens: float) -> Interval:
    """Return the time of the run with pauses, checkpoints and restarts."""
    step = candidate.step.times(1 / paced.computing_share)
    steps = max(1.0, tokens / candidate.tokens_per_step)
    run = whole_run(step, steps, machine, candidate.mfu, Habits())
    return run.seconds


def _missed(bounds: Bounds, candidate: Candidate, tokens: float, seconds: Interval) -> Iterator[tuple[Missed, float]]:
    ratio = tokens / candidate.parameters
    rows: tuple[tuple[str, ValueRange, float, Callable[[float], str]], ...] = (
        ("parameters", bounds.parameters, float(candidate.parameters), count),
        ("micro-batch", bounds.micro_batch, float(candidate.layout.micro_batch), count),
        ("sequence", bounds.sequence, float(candidate.training.sequence), lambda value: f"{value:,.0f}"),
        ("time", bounds.seconds, seconds.middle, duration),
        ("tokens per parameter", bounds.tokens_per_parameter, ratio, lambda value: f"{value:.3g}"),
    )
    for name, span, value, formatted in rows:
        if value * (1 + TOLERANCE) < span.low or value * (1 - TOLERANCE) > span.high:
            yield Missed(name, _span(span, formatted), formatted(value), ""), _distance(span, value)


def _distance(span: ValueRange, value: float) -> float:
    """Return how far a value is from a range, as a logarithm."""
    return abs(math.log(value / (span.low if value < span.low else span.high)))


def _missed_power(bounds: Bounds, paced: DutyCycle) -> Iterator[tuple[Missed, float]]:
    wanted = _span(bounds.power_share, percent)
    if paced.power_share is None:
        yield Missed("power", wanted, "not estimated", ""), 0.0
    elif not bounds.power_share.holds(round(paced.power_share, 2)):
        reached = percent(paced.power_share)
        yield Missed("power", wanted, reached, ""), _distance(bounds.power_share, paced.power_share)


def _missed_memory(bounds: Bounds, share: float) -> Iterator[tuple[Missed, float]]:
    span = ValueRange(bounds.least_memory_share, bounds.memory_share)
    if share < span.low:
        yield Missed("memory", _span(span, percent), percent(share), ""), _distance(span, share)


def _span(span: ValueRange, formatted: Callable[[float], str]) -> str:
    """Format a range in its unit."""
    if span.high == UNBOUNDED:
        return f"{formatted(span.low)} or more"
    return formatted(span.low) if span.low == span.high else f"{formatted(span.low)} … {formatted(span.high)}"
