"""Chooses conservative, balanced and extreme configurations for a machine among candidates."""

from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from flyball_planner.catalogue.hardware import TrainingMachine
from flyball_planner.configurations.bounds import ALL, UNBOUNDED, Bounds, ValueRange
from flyball_planner.configurations.candidates import Candidate, candidates
from flyball_planner.configurations.configuration import Configuration, Missed
from flyball_planner.configurations.device_tuning import Tuning, tuning
from flyball_planner.configurations.numbers import expected, model_numbers, specification_text, training_numbers
from flyball_planner.configurations.power import DutyCycle, duty_cycle
from flyball_planner.interval import Interval
from flyball_planner.timing.training_run import IDLE_SHARE, Habits, device_watts, whole_run
from flyball_reports.errors import InputError
from flyball_reports.figures import count, duration, percent

LONGEST_DAYS = 7.0  # longer runs are not proposed, although "six hours and more" has no upper end
DAY = 86400.0
TOLERANCE = 0.01  # a bound that is missed by less counts as met


class Option(Struct, frozen=True):
    """A candidate with a number of tokens that suits its bounds."""

    candidate: Candidate
    pace: DutyCycle
    tokens: float
    seconds: Interval
    missed: tuple[Missed, ...]


def configure(
    machine: TrainingMachine, kinds: Sequence[Bounds] = ALL, *, longest_days: float = LONGEST_DAYS
) -> tuple[Configuration, ...]:
    """Return one configuration of each kind; raises `InputError` if not even the smallest shape fits."""
    tuned = tuning(machine.device)
    return tuple(_configuration(bounds, machine, tuned, longest_days * DAY) for bounds in kinds)


def _configuration(bounds: Bounds, machine: TrainingMachine, tuned: Tuning, longest: float) -> Configuration:
    options = [_option(bounds, machine, each, longest) for each in candidates(bounds, machine, tuned)]
    if not options:
        raise InputError(
            f"nothing fits into {percent(bounds.memory_share)} of the memory of {machine.device.name}, not even 23 "
            "million parameters; use a device with more memory"
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
    """Rank options: not too long, fewest misses, largest model, longest sequence, shortest time."""
    chosen = option.candidate
    too_long = option.seconds.middle > longest
    return too_long, len(option.missed), -chosen.parameters, -chosen.training.sequence, option.seconds.middle


def _option(bounds: Bounds, machine: TrainingMachine, candidate: Candidate, longest: float) -> Option:
    device = machine.device
    busy = device_watts(device, candidate.mfu) if device.power_watts else None
    paced = duty_cycle(bounds, device, busy, IDLE_SHARE * (device.power_watts or 0.0))
    tokens = _tokens(bounds, machine, candidate, paced, longest)
    seconds = _seconds(machine, candidate, paced, tokens)
    return Option(candidate, paced, tokens, seconds, tuple(_missed(bounds, candidate, paced, tokens, seconds)))


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


def _missed(
    bounds: Bounds, candidate: Candidate, paced: DutyCycle, tokens: float, seconds: Interval
) -> Iterator[Missed]:
    """Yield every missed bound with its reason."""
    ratio = tokens / candidate.parameters
    rows = (
        ("parameters", bounds.parameters, float(candidate.parameters), count, "limited by memory and time"),
        ("micro-batch", bounds.micro_batch, float(candidate.layout.micro_batch), count, "more would not fit"),
        ("sequence", bounds.sequence, float(candidate.training.sequence), count, "more would not fit"),
        ("time", bounds.seconds, seconds.middle, duration, "depends on the model, its tokens and the device"),
        ("tokens per parameter", bounds.tokens_per_parameter, ratio, lambda value: f"{value:.3g}", "limited by time"),
    )
    for name, span, value, formatted, because in rows:
        if value * (1 + TOLERANCE) < span.low or value * (1 - TOLERANCE) > span.high:
            yield Missed(name, _span(span, formatted), formatted(value), because)
    if paced.power_share is not None and not bounds.power_share.holds(round(paced.power_share, 2)):
        because = "the device is not fully used" if paced.power_share < bounds.power_share.low else "pauses"
        yield Missed("power", _span(bounds.power_share, percent), percent(paced.power_share), because)


def _span(span: ValueRange, formatted: Callable[[float], str]) -> str:
    """Format a range in its unit."""
    if span.high == UNBOUNDED:
        return f"{formatted(span.low)} or more"
    return formatted(span.low) if span.low == span.high else f"{formatted(span.low)} … {formatted(span.high)}"
