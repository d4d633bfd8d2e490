"""Chooses conservative, balanced and extreme configurations for a machine among candidates."""

from collections.abc import Iterator, Sequence

from flyball_planner.catalogue.hardware import DeviceKind, TrainingMachine
from flyball_planner.configurations.bounds import ALL, Bounds
from flyball_planner.configurations.candidates import Candidate, candidates, filled, lengthened
from flyball_planner.configurations.configuration import Configuration
from flyball_planner.configurations.device_tuning import Tuning, tuning
from flyball_planner.configurations.numbers import expected, model_numbers, specification_text, training_numbers
from flyball_planner.configurations.option import Option, option_of, order
from flyball_planner.configurations.reasons import missed_with_reasons, too_long
from flyball_reports.errors import InputError
from flyball_reports.figures import percent

LONGEST_DAYS = 7.0  # longer runs are not proposed, although "six hours and more" has no upper end
DAY = 86400.0


def configure(
    machine: TrainingMachine, kinds: Sequence[Bounds] = ALL, *, longest_days: float = LONGEST_DAYS
) -> tuple[Configuration, ...]:
    """Return one configuration of each kind; raises `InputError` if not even the smallest shape fits."""
    tuned = tuning(machine.device)
    return tuple(_configuration(bounds, machine, tuned, longest_days * DAY) for bounds in kinds)


def _configuration(bounds: Bounds, machine: TrainingMachine, tuned: Tuning, longest: float) -> Configuration:
    options = [option_of(bounds, machine, each, longest) for each in candidates(bounds, machine, tuned)]
    if not options:
        raise InputError(
            f"nothing fits into {percent(bounds.memory_share)} of the memory of {machine.device.name}"
            f"{_beside(machine)}, not even 23 million parameters; use a device with more memory"
        )
    best = _filled(min(options, key=lambda option: order(option, longest)), bounds, machine, longest)
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
        missed=(*too_long(best, longest), *missed_with_reasons(best, options, bounds, machine, longest)),
        settings=tuned.settings,
        notes=(*tuned.notes, *machine.assumptions),
        fallbacks=bounds.fallbacks,
        monitoring=bounds.monitoring,
        warnings=bounds.warnings,
        specification=specification_text(bounds.name, machine, chosen, tokens),
    )


def _beside(machine: TrainingMachine) -> str:
    """Return what else needs the memory of a device that shares it with its host."""
    shared = machine.device.kind in {DeviceKind.CPU, DeviceKind.UNIFIED}
    return " beside the operating system and a copy of the checkpoint" if shared else ""


def _filled(best: Option, bounds: Bounds, machine: TrainingMachine, longest: float) -> Option:
    """Return the option with the micro-batch, and then the sequence, that uses most of the memory.

    Both stay as they are where more of them misses another bound.
    """
    for more in (_larger_batches, lengthened):
        if "memory" not in best.missed_names:
            return best
        options = (option_of(bounds, machine, each, longest) for each in more(bounds, machine, best.candidate))
        best = next((each for each in options if _as_good(each, best, longest)), best)
    return best


def _larger_batches(bounds: Bounds, machine: TrainingMachine, candidate: Candidate) -> Iterator[Candidate]:
    fuller = filled(bounds, machine, candidate)
    if fuller is not None:
        yield fuller


def _as_good(option: Option, best: Option, longest: float) -> bool:
    return option.missed_names <= best.missed_names and option.seconds.middle <= longest
