"""Why a configuration misses a bound: what meeting it would cost, or what excludes it on this machine."""

from collections.abc import Sequence

from msgspec.structs import replace

from flyball_planner.catalogue.hardware import DeviceKind, TrainingMachine
from flyball_planner.configurations.bounds import Bounds
from flyball_planner.configurations.candidates import with_larger_micro_batch
from flyball_planner.configurations.configuration import Missed
from flyball_planner.configurations.option import Option, order
from flyball_reports.figures import count, duration, percent, size

MOST_NAMED = 3  # consequences that a reason lists


def missed_with_reasons(
    best: Option, options: Sequence[Option], bounds: Bounds, machine: TrainingMachine, longest: float
) -> tuple[Missed, ...]:
    """Return the missed bounds of the best option, each with its reason."""
    return tuple(
        replace(each, because=_reason(each.bound, best, options, bounds, machine, longest)) for each in best.missed
    )


def too_long(best: Option, longest: float) -> tuple[Missed, ...]:
    """Return the limit of the run as missed if even the best option takes longer."""
    if best.seconds.middle <= longest:
        return ()
    reached, limit = duration(best.seconds.middle), duration(longest)
    because = "it is the shortest of all configurations of this kind that fit; train on a faster device"
    return (Missed("longest run", f"{limit} or less", reached, because),)


def _reason(
    name: str, best: Option, options: Sequence[Option], bounds: Bounds, machine: TrainingMachine, longest: float
) -> str:
    if name == "power" and best.pace.power_share is None:
        return f"the catalogue has no nominal power of {machine.device.name}"
    if name == "memory":
        direct = _memory_limit(best, bounds, machine)
        if direct:
            return direct
    meeting = [each for each in options if name not in each.missed_names]
    if not meeting:
        return _excluded(name, best, options, bounds)
    other = min(meeting, key=lambda option: order(option, longest))
    if other.seconds.middle > max(longest, best.seconds.middle):
        takes = f"meeting it takes {duration(other.seconds.middle)} with {count(other.candidate.parameters)} parameters"
        return f"{takes}, longer than the limit of {duration(longest)}"
    return _consequence(other, best)


def _consequence(other: Option, best: Option) -> str:
    """Return what the best option that meets the bound misses instead."""
    missed = [each for each in other.missed if each.bound not in best.missed_names]
    if not missed:
        return "meeting it takes a smaller model or a shorter sequence"
    words = ", ".join(f"{each.bound} ({each.reached})" for each in missed[:MOST_NAMED])
    return f"meeting it misses instead: {words}"


def _memory_limit(best: Option, bounds: Bounds, machine: TrainingMachine) -> str:
    """Return why no larger micro-batch uses the rest of the memory; empty if one could."""
    candidate = best.candidate
    larger = candidate.layout.micro_batch + 1
    needed, usable = with_larger_micro_batch(candidate, machine, larger)
    what = f"a micro-batch of {larger}"
    if needed.high > usable:
        taken = percent(candidate.memory.high / machine.device.memory_bytes)
        more = f"{what} up to {size(needed.high)}"
        return f"this one may need up to {taken} already, and {more}; {_usable(machine, usable)}"
    if needed.middle > bounds.memory_share * machine.device.memory_bytes:
        return f"{what} would use {percent(needed.middle / machine.device.memory_bytes)}"
    if larger > bounds.micro_batch.high:
        return f"the micro-batch is {larger - 1} already, the most of this kind, and larger models take longer"
    if candidate.layout.data * (larger - 1) == candidate.training.global_batch:
        return f"the micro-batch is {larger - 1}, the whole batch of a device, and a larger batch learns less per token"
    return ""


def _usable(machine: TrainingMachine, usable: float) -> str:
    """Return how much memory a training may take, and what takes the rest where a device shares it with its host."""
    shared = machine.device.kind in {DeviceKind.CPU, DeviceKind.UNIFIED}
    rest = ", because the system and a copy of the checkpoint need the rest" if shared else ""
    return f"only {size(usable)} of the memory can be used{rest}"


def _excluded(name: str, best: Option, options: Sequence[Option], bounds: Bounds) -> str:
    """Return why no option meets a bound."""
    match name:
        case "power":
            most = max((each.candidate.mfu for each in options), default=best.candidate.mfu)
            return f"these models reach at most {percent(most)} of the device's peak rate, so it draws less power"
        case "time":
            fastest = min(each.seconds.middle for each in options)
            slowest = max(each.seconds.middle for each in options)
            return f"every configuration that fits takes between {duration(fastest)} and {duration(slowest)}"
        case "parameters":
            largest = max(each.candidate.parameters for each in options)
            return f"the largest model that fits into {percent(bounds.memory_share)} of the memory has {count(largest)}"
        case "memory":
            larger = best.candidate.layout.micro_batch + 1
            return f"a micro-batch of {larger} is slower per sample, and no larger model finishes in time"
        case "micro-batch" | "sequence":
            return f"no model with it fits into {percent(bounds.memory_share)} of the memory"
    return "no configuration that fits meets it"
