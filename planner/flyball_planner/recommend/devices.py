"""Accelerators for a model: of each device as few as meet the time, and what they cost."""

from collections.abc import Callable, Iterator, Sequence
from math import ceil, log2

from msgspec import Struct
from msgspec.structs import replace

from flyball_planner.catalogue.bills import Bill, compare
from flyball_planner.catalogue.devices import find_device
from flyball_planner.catalogue.hardware import Device, Machine
from flyball_planner.catalogue.machines import machine
from flyball_planner.catalogue.prices import all_offers, offers
from flyball_planner.interval import Interval
from flyball_planner.plan.choose import choose
from flyball_planner.plan.judge import FITS, Judged
from flyball_planner.plan.known import Known, nothing_known
from flyball_planner.plan.subject import Subject
from flyball_planner.plan.whole import Whole, whole_run_of
from flyball_planner.recommend.demand import Demand
from flyball_planner.timing.estimate import flops_a_sample
from flyball_planner.training import Training
from flyball_reports.errors import InputError

MOST_DEVICES = 4096
HOPEFUL_MFU = 0.6
"""Above what is reached (the best published trainings report 0.45 to 0.57), so that no count that would do is passed
over."""


class _Task(Struct, frozen=True):
    """What is to be trained in time."""

    subject: Subject
    training: Training
    demand: Demand
    known: Callable[[Machine], Known]


class DeviceOption(Struct, frozen=True):
    """So many of one device."""

    judged: Judged
    whole: Whole
    in_time: bool
    bills: tuple[Bill, ...]

    @property
    def device(self) -> Device:
        """What it is."""
        return self.judged.machine.device

    @property
    def count(self) -> int:
        """How many."""
        return self.judged.machine.devices

    @property
    def hours(self) -> Interval:
        """The whole run."""
        return self.whole.seconds.times(1 / 3600)

    @property
    def bill(self) -> Bill | None:
        """The cheapest."""
        return self.bills[0] if self.bills else None

    @property
    def usd(self) -> float:
        """Of the cheapest bill; without a price, infinitely much, so that it comes last."""
        return self.bill.usd if self.bill else float("inf")

    def told(self) -> str:
        """In a line, the price with place and date."""
        hours = f"{self.hours.middle:,.1f} h ({self.hours.low:,.1f} to {self.hours.high:,.1f})"
        late = "" if self.in_time else ", too slow"
        return (
            f"{self.count} x {self.device.name}: {hours}{late}; {self.bill.told() if self.bill else 'no price known'}"
        )


def device_options(
    subject: Subject,
    training: Training,
    demand: Demand,
    names: Sequence[str] = (),
    known: Callable[[Machine], Known] = nothing_known,
) -> Sequence[DeviceOption]:
    """Those that meet the time first, the cheapest of them first; a device on which nothing fits is left out."""
    wanted = [find_device(each) for each in names] if names else _rented()
    task = _Task(subject, replace(training, samples=demand.samples), demand, known)
    found = [each for each in (_option(task, device) for device in wanted) if each]
    return sorted(found, key=lambda each: (not each.in_time, _caveat(each), each.usd, each.count))


def _caveat(option: DeviceOption) -> bool:
    return option.bill is None or bool(option.bill.offer.caveat)


def _rented() -> list[Device]:
    """What somebody offers with all that belongs to it."""
    return [find_device(name) for name in sorted({each.device for each in all_offers() if not each.caveat})]


def _option(task: _Task, device: Device) -> DeviceOption | None:
    best: DeviceOption | None = None
    if not device.computes(task.training.precision.compute):
        return None
    for count in _counts(task, device):
        option = _of_count(task, device, count)
        if option and (best is None or option.hours.middle < best.hours.middle):
            best = option
        if best and best.in_time:
            return _filled(task, best)
    return best


def _filled(task: _Task, option: DeviceOption) -> DeviceOption:
    """With the devices that are paid anyway, where that is cheaper."""
    idle = option.bill.idle_devices if option.bill else 0
    full = _of_count(task, option.device, option.count + idle) if idle else None
    return full if full and full.in_time and full.usd < option.usd else option


def _counts(task: _Task, device: Device) -> Iterator[int]:
    """Powers of two, from the fewest that might do; those that are surely too slow are not tried."""
    flops = flops_a_sample(task.subject, task.training) * task.demand.samples
    fewest = flops / (device.rate(task.training.precision.compute) * HOPEFUL_MFU * task.demand.seconds)
    first = min(MOST_DEVICES, 2 ** max(0, ceil(log2(fewest)) if fewest > 1 else 0))
    count = first
    while count <= min(MOST_DEVICES, first * 64):
        yield count
        count *= 2


def _of_count(task: _Task, device: Device, count: int) -> DeviceOption | None:
    where = machine(device, count)
    try:
        judged = choose(task.subject, task.training, where, known=task.known(where)).best
    except InputError:
        return None  # so many cannot share this batch or this model
    if judged.verdict != FITS:
        return None
    whole = whole_run_of(task.subject, judged)
    hours = whole.seconds.times(1 / 3600)
    bills = tuple(compare(offers(device), hours, count))
    return DeviceOption(judged, whole, hours.middle <= task.demand.hours, bills)
