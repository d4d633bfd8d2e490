"""A whole training: steps, and what stands between them; then energy and money."""

import math

from msgspec import Struct

from flyball_planner.catalogue.hardware import Device, DeviceKind, Machine
from flyball_planner.interval import Interval

CHECKPOINT_BYTES_PER_SECOND = 2.0e9
"""What a node writes to shared storage: half of what EBS io2 or an NVMe SSD of PCIe 4.0 takes (4.2 and 5 GB/s)."""
DEVICE_FAILURES_AN_HOUR = 419 / (54 * 24 * 16_384)
"""Unexpected interruptions of Llama 3 405B: 419 in 54 days on 16,384 H100 (The Llama 3 Herd of Models, 3.3.4)."""
RESTART_SECONDS = 600.0  # to notice, to take another node, to load; the same paper tells of minutes
START_SECONDS = 300.0  # of a cluster: scheduling, loading the program and the data's index, the first compilation
START_SECONDS_ALONE = 30.0  # of one node: importing the framework, contexts, the first batches; both assumed
USUAL_SECONDS_BETWEEN = 3600.0  # checkpoints, where nothing is said of what one takes
EVALUATION_SHARE = 0.01  # of the steps' time, where nothing is said
IDLE_SHARE = 0.25  # of its power limit that a device draws however little it does: an A100 about 100 of 400 W
BUSY_MFU = 0.5  # the utilisation at which a device draws its limit (LLM trainings at 45-55 % report it)
HOST_SHARE = 0.4  # of its devices' power that a node draws beside them (DGX H100: 10.2 kW, of which 5.6 kW are devices)
PUE = Interval(1.05, 1.2, 1.6)
"""What a data centre draws over what its machines do: the best, usual new ones, usual old ones."""


class Habits(Struct, frozen=True):
    """What stands between the steps."""

    checkpoint_bytes: float = 0.0  # of one checkpoint, of all nodes; 0: writing takes no time
    checkpoint_seconds_between: float = 0.0  # 0: as often as is best for the failures expected (Young, 1974)
    checkpoint_bytes_per_second: float = CHECKPOINT_BYTES_PER_SECOND  # of one node
    asynchronous: bool = False  # written beside training: only the copy to the host stops it
    evaluation_share: float = EVALUATION_SHARE


class RunEstimate(Struct, frozen=True):
    """A whole training."""

    steps: float
    seconds: Interval  # from start to end, failures included
    goodput: float  # share of that time in which steps are made that count
    checkpoint_seconds: float  # in all
    checkpoint_seconds_between: float
    lost_seconds: float  # made again after failures, and restarts
    failures: float  # expected
    device_watts: float  # of one device, on average
    energy_joules: Interval  # of machines and data centre
    device_hours: Interval


def whole_run(
    step: Interval,
    steps: float,
    machine: Machine,
    mfu: float,
    habits: Habits | None = None,
) -> RunEstimate:
    """So many steps of so long, with what a cluster adds."""
    known = habits or Habits()
    stepping = step.middle * steps
    failing = machine.devices * DEVICE_FAILURES_AN_HOUR / 3600
    write = _write_seconds(known, machine)
    between = known.checkpoint_seconds_between or _best_interval(write, failing, stepping)
    checkpointing = write * stepping / between
    useful = stepping * (1 + known.evaluation_share) + checkpointing
    lost = failing * useful * (between / 2 + RESTART_SECONDS)
    middle = useful + lost + (START_SECONDS if machine.nodes > 1 else START_SECONDS_ALONE)
    seconds = Interval(middle * (step.low / step.middle), middle, middle * (step.high / step.middle))
    watts = device_watts(machine.device, mfu)
    return RunEstimate(
        steps=steps,
        seconds=seconds,
        goodput=step.middle * steps / middle,
        checkpoint_seconds=checkpointing,
        checkpoint_seconds_between=between,
        lost_seconds=lost,
        failures=failing * useful,
        device_watts=watts,
        energy_joules=energy_joules(seconds, machine, watts),
        device_hours=seconds.times(machine.devices / 3600),
    )


def device_watts(device: Device, mfu: float) -> float:
    """What one device draws on average: its idle power, and the rest by how much it computes."""
    limit = device.power_watts or 0.0
    if device.kind is DeviceKind.CPU:
        return limit
    return limit * (IDLE_SHARE + (1 - IDLE_SHARE) * min(1.0, mfu / BUSY_MFU))


def energy_joules(seconds: Interval, machine: Machine, watts: float) -> Interval:
    """Of devices, their hosts and the data centre; how efficient that is, is the widest of the unknowns."""
    machines = watts * machine.devices * (1 + HOST_SHARE)
    return Interval(
        seconds.low * machines * PUE.low, seconds.middle * machines * PUE.middle, seconds.high * machines * PUE.high
    )


def cost_dollars(seconds: Interval, device_hour_dollars: float, devices: int) -> Interval:
    """What the devices cost for that time at a price an hour and device."""
    return seconds.times(device_hour_dollars * devices / 3600)


def _write_seconds(habits: Habits, machine: Machine) -> float:
    if not habits.checkpoint_bytes:
        return 0.0
    speed = habits.checkpoint_bytes_per_second
    if habits.asynchronous:
        host = machine.device.host_link.bytes_per_second if machine.device.host_link else speed
        return habits.checkpoint_bytes / (machine.devices * host)
    return habits.checkpoint_bytes / (machine.nodes * speed)


def _best_interval(write_seconds: float, failures_a_second: float, run_seconds: float) -> float:
    """Young's interval between checkpoints, no longer than the run."""
    best = math.sqrt(2 * write_seconds / failures_a_second) if write_seconds else USUAL_SECONDS_BETWEEN
    return min(run_seconds, best)
