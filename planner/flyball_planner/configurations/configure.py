"""Conservative, balanced and extreme for a machine: chosen among transformer shapes by what their estimates hold."""

from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from flyball_planner.catalogue.hardware import Machine
from flyball_planner.configurations.bounds import ALL, UNBOUNDED, Bounds, Span
from flyball_planner.configurations.candidates import Candidate, candidates
from flyball_planner.configurations.configuration import Configuration, Missed
from flyball_planner.configurations.families import Tuning, tuning
from flyball_planner.configurations.numbers import expected, model_numbers, specification_text, training_numbers
from flyball_planner.configurations.power import Pace, pace
from flyball_planner.interval import Interval
from flyball_planner.timing.run import IDLE_SHARE, Habits, device_watts, whole_run
from flyball_reports.errors import InputError
from flyball_reports.figures import count, duration, percent

LONGEST_DAYS = 7.0  # "six hours and more" has no upper end: what takes longer than this is not proposed
DAY = 86400.0
TOLERANCE = 0.01  # a bound that is missed by less is held


class Option(Struct, frozen=True):
    """A candidate with as many tokens as suit its bounds."""

    candidate: Candidate
    pace: Pace
    tokens: float
    seconds: Interval
    missed: tuple[Missed, ...]


def configure(
    machine: Machine, kinds: Sequence[Bounds] = ALL, *, longest_days: float = LONGEST_DAYS
) -> tuple[Configuration, ...]:
    """One configuration of each kind; `InputError` where not even the smallest shape fits."""
    tuned = tuning(machine.device)
    return tuple(_configuration(bounds, machine, tuned, longest_days * DAY) for bounds in kinds)


def _configuration(bounds: Bounds, machine: Machine, tuned: Tuning, longest: float) -> Configuration:
    options = [_option(bounds, machine, each, longest) for each in candidates(bounds, machine, tuned)]
    if not options:
        raise InputError(
            f"nothing fits {percent(bounds.memory_share)} of {machine.device.name}'s memory, not even "
            "23 million parameters; use a device with more memory"
        )
    best = min(options, key=lambda option: _order(option, longest))
    chosen, tokens = best.candidate, best.tokens
    return Configuration(
        name=bounds.name,
        purpose=bounds.purpose,
        device=machine.device.name,
        devices=machine.devices,
        family=tuned.family,
        model=model_numbers(chosen),
        training=training_numbers(machine, tuned, chosen, best.pace, tokens),
        expected=expected(bounds, machine, chosen, best.pace, best.seconds),
        missed=best.missed,
        settings=tuned.settings,
        notes=(*tuned.notes, *machine.assumptions),
        fallbacks=bounds.fallbacks,
        monitoring=bounds.monitoring,
        warnings=bounds.warnings,
        specification=specification_text(bounds.name, machine, chosen, tokens),
    )


def _order(option: Option, longest: float) -> tuple[float, ...]:
    """Not too long, then the fewest misses, then the largest model, then the longest sequence, then the quickest."""
    chosen = option.candidate
    too_long = option.seconds.middle > longest
    return too_long, len(option.missed), -chosen.parameters, -chosen.training.sequence, option.seconds.middle


def _option(bounds: Bounds, machine: Machine, candidate: Candidate, longest: float) -> Option:
    device = machine.device
    busy = device_watts(device, candidate.mfu) if device.power_watts else None
    paced = pace(bounds, device, busy, IDLE_SHARE * (device.power_watts or 0.0))
    tokens = _tokens(bounds, machine, candidate, paced, longest)
    seconds = _seconds(machine, candidate, paced, tokens)
    return Option(candidate, paced, tokens, seconds, tuple(_missed(bounds, candidate, paced, tokens, seconds)))


def _tokens(bounds: Bounds, machine: Machine, candidate: Candidate, paced: Pace, longest: float) -> float:
    """As few a parameter as the kind asks for, more where the run would otherwise be shorter than it should be."""
    least = bounds.tokens_a_parameter.low * candidate.parameters
    middle = _seconds(machine, candidate, paced, least).middle
    longer = min(bounds.seconds.low / middle, longest / middle)
    return max(least, min(least * longer, bounds.tokens_a_parameter.high * candidate.parameters))


def _seconds(machine: Machine, candidate: Candidate, paced: Pace, tokens: float) -> Interval:
    """Steps with their pauses; checkpoints and restarts are part of it."""
    step = candidate.step.times(1 / paced.computing_share)
    steps = max(1.0, tokens / candidate.tokens_a_step)
    run = whole_run(step, steps, machine, candidate.mfu, Habits())
    return run.seconds


def _missed(bounds: Bounds, candidate: Candidate, paced: Pace, tokens: float, seconds: Interval) -> Iterator[Missed]:
    """Every bound that does not hold, and why."""
    ratio = tokens / candidate.parameters
    rows = (
        ("parameters", bounds.parameters, float(candidate.parameters), count, "what fits and ends in time decides"),
        ("micro-batch", bounds.micro_batch, float(candidate.layout.micro_batch), count, "more would not fit"),
        ("sequence", bounds.sequence, float(candidate.training.sequence), count, "more would not fit"),
        ("time", bounds.seconds, seconds.middle, duration, "it follows from the model, its tokens and the device"),
        ("tokens a parameter", bounds.tokens_a_parameter, ratio, lambda value: f"{value:.3g}", "time is short"),
    )
    for name, span, value, told, because in rows:
        if value * (1 + TOLERANCE) < span.low or value * (1 - TOLERANCE) > span.high:
            yield Missed(name, _span(span, told), told(value), because)
    if paced.power_share is not None and not bounds.power_share.holds(round(paced.power_share, 2)):
        because = "the device computes less than it could" if paced.power_share < bounds.power_share.low else "pauses"
        yield Missed("power", _span(bounds.power_share, percent), percent(paced.power_share), because)


def _span(span: Span, told: Callable[[float], str]) -> str:
    """From … to, in its own unit."""
    if span.high == UNBOUNDED:
        return f"{told(span.low)} or more"
    return told(span.low) if span.low == span.high else f"{told(span.low)} … {told(span.high)}"
