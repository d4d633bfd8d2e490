"""Accelerators for a model: for each device the smallest number that meets the time, with its cost."""

from collections.abc import Callable, Iterator, Sequence
from math import ceil, log2

from msgspec import Struct
from msgspec.structs import replace

from flyball_planner.catalogue.bills import Bill, compare
from flyball_planner.catalogue.devices import find_device
from flyball_planner.catalogue.hardware import ComputeDevice, TrainingMachine
from flyball_planner.catalogue.machines import machine
from flyball_planner.catalogue.prices import all_offers, offers
from flyball_planner.interval import Interval
from flyball_planner.plan.context import PlanContext, empty_context
from flyball_planner.plan.judged_layout import FITS, JudgedLayout
from flyball_planner.plan.layout_choice import choose
from flyball_planner.plan.subject import Subject
from flyball_planner.plan.whole_run import WholeRun, whole_run_of
from flyball_planner.recommend.demand import Demand
from flyball_planner.timing.estimate import flops_per_sample
from flyball_planner.training import Training
from flyball_reports.errors import InputError
from flyball_reports.figures import duration, spread

MOST_DEVICES = 4096
HOPEFUL_MFU = 0.6
"""A utilisation above any that is reached (the best published trainings report 0.45 to 0.57), so that no sufficient
number of devices is skipped."""


class _Task(Struct, frozen=True):
    """The training and the demand."""

    subject: Subject
    training: Training
    demand: Demand
    context_for: Callable[[TrainingMachine], PlanContext]


class DeviceOption(Struct, frozen=True):
    """A number of devices of one type."""

    judged: JudgedLayout
    whole: WholeRun
    in_time: bool
    bills: tuple[Bill, ...]

    @property
    def device(self) -> ComputeDevice:
        """Return the device."""
        return self.judged.machine.device

    @property
    def count(self) -> int:
        """Return the number of devices."""
        return self.judged.machine.devices

    @property
    def hours(self) -> Interval:
        """Return the duration of the complete run."""
        return self.whole.seconds.times(1 / 3600)

    @property
    def bill(self) -> Bill | None:
        """Return the cheapest bill."""
        return self.bills[0] if self.bills else None

    @property
    def usd(self) -> float:
        """Return the cheapest cost, or infinity without a price, so that the option comes last."""
        return self.bill.usd if self.bill else float("inf")

    def description(self) -> str:
        """Return a line with the price, its region and its date."""
        late = "" if self.in_time else ", too slow"
        price = self.bill.description() if self.bill else "price unknown"
        return f"{self.count} × {self.device.name}: {spread(self.hours.times(3600), duration)}{late}; {price}"


def device_options(
    subject: Subject,
    training: Training,
    demand: Demand,
    names: Sequence[str] = (),
    context_for: Callable[[TrainingMachine], PlanContext] = empty_context,
) -> Sequence[DeviceOption]:
    """Return the options, those within the time first, then the cheapest.

    Without any in time, the fastest come first. Devices on which nothing fits are left out.
    """
    wanted = [find_device(each) for each in names] if names else _rented()
    task = _Task(subject, replace(training, samples=demand.samples), demand, context_for)
    found = [each for each in (_option(task, device) for device in wanted) if each]
    if not any(each.in_time for each in found):
        return sorted(found, key=lambda each: (each.hours.middle, each.usd))
    return sorted(found, key=lambda each: (not each.in_time, _caveat(each), each.usd, each.count))


def _caveat(option: DeviceOption) -> bool:
    return option.bill is None or bool(option.bill.offer.caveat)


def _rented() -> list[ComputeDevice]:
    """Return the devices that someone rents out without a caveat."""
    return [find_device(name) for name in sorted({each.device for each in all_offers() if not each.caveat})]


def _option(task: _Task, device: ComputeDevice) -> DeviceOption | None:
    best: DeviceOption | None = None
    if not device.computes(task.training.precision.compute):
        return None
    for count in _counts(task, device):
        option = _of_count(task, device, count)
        if option and (best is None or option.hours.middle < best.hours.middle):
            best = option
        if best and best.in_time:
            return _filled(task, best)
    return _with_fewer(task, device, best)


def _with_fewer(task: _Task, device: ComputeDevice, best: DeviceOption | None) -> DeviceOption | None:
    """Return the fastest of fewer devices than were tried, if none is in time: the batch may not divide by so many."""
    count = next(_counts(task, device)) // 2
    while count:
        option = _of_count(task, device, count)
        if option and best and option.hours.middle >= best.hours.middle:
            break
        best = option or best
        count //= 2
    return best


def _filled(task: _Task, option: DeviceOption) -> DeviceOption:
    """Use all devices that are paid anyway if that is cheaper."""
    idle = option.bill.idle_devices if option.bill else 0
    full = _of_count(task, option.device, option.count + idle) if idle else None
    return full if full and full.in_time and full.usd < option.usd else option


def _counts(task: _Task, device: ComputeDevice) -> Iterator[int]:
    """Yield powers of two, from the smallest number that might be fast enough."""
    flops = flops_per_sample(task.subject, task.training) * task.demand.samples
    fewest = flops / (device.rate(task.training.precision.compute) * HOPEFUL_MFU * task.demand.seconds)
    first = min(MOST_DEVICES, 2 ** max(0, ceil(log2(fewest)) if fewest > 1 else 0))
    count = first
    while count <= min(MOST_DEVICES, first * 64):
        yield count
        count *= 2


def _of_count(task: _Task, device: ComputeDevice, count: int) -> DeviceOption | None:
    where = machine(device, count)
    try:
        judged = choose(task.subject, task.training, where, context=task.context_for(where)).best
    except InputError:
        return None  # this batch or model cannot be divided by so many devices
    if judged.verdict != FITS:
        return None
    whole = whole_run_of(task.subject, judged)
    hours = whole.seconds.times(1 / 3600)
    bills = tuple(compare(offers(device), hours, count))
    return DeviceOption(judged, whole, hours.middle <= task.demand.hours, bills)
