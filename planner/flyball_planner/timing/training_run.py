"""Complete runs: steps and everything between them, energy and cost."""

import math

from msgspec import Struct
from msgspec.structs import replace

from flyball_planner.catalogue.hardware import ComputeDevice, DeviceKind, TrainingMachine
from flyball_planner.interval import Interval
from flyball_planner.timing.overrun import overrun

CHECKPOINT_BYTES_PER_SECOND = 2.0e9
"""Write rate of a node to shared storage: half of EBS io2 or a PCIe 4.0 NVMe SSD (4.2 and 5 GB/s)."""
DEVICE_FAILURES_AN_HOUR = 419 / (54 * 24 * 16_384)
"""Unexpected interruptions of Llama 3 405B: 419 in 54 days on 16,384 H100 (The Llama 3 Herd of Models, 3.3.4)."""
RESTART_SECONDS = 600.0  # to detect the failure, replace the node and load; the same paper reports minutes
START_SECONDS = 300.0  # of a cluster: scheduling, loading the program and the data index, first compilation
START_SECONDS_ALONE = 30.0  # of one node: importing the framework, contexts, first batches; both are assumptions
USUAL_SECONDS_BETWEEN = 3600.0  # between checkpoints of unknown size
EVALUATION_SHARE = 0.01  # share of the steps' time; an assumption
IDLE_SHARE = 0.25  # share of the power limit that an idle but active device draws: an A100 about 100 of 400 W
BUSY_MFU = 0.5  # utilisation at which a device draws its limit (reported by LLM trainings at 45-55 %)
HOST_SHARE = 0.4  # other power of a node as a share of its devices' (DGX H100: 10.2 kW, of which 5.6 kW are devices)
PUE = Interval(1.05, 1.2, 1.6)
"""Power of a data centre relative to its machines: the best, usual new ones, usual old ones."""


class Habits(Struct, frozen=True):
    """The work between steps: checkpoints and evaluation."""

    checkpoint_bytes: float = 0.0  # of one checkpoint over all nodes; 0: writing takes no time
    checkpoint_seconds_between: float = 0.0  # 0: the best interval for the expected failures (Young, 1974)
    checkpoint_bytes_per_second: float = CHECKPOINT_BYTES_PER_SECOND  # per node
    asynchronous: bool = False  # written during training; only the copy to the host blocks
    evaluation_share: float = EVALUATION_SHARE


class RunEstimate(Struct, frozen=True):
    """The estimate of a complete run."""

    steps: float
    seconds: Interval  # from start to end, as complete runs go
    steps_alone: Interval  # seconds of the steps without anything between them
    overrun: float  # how many times longer published runs take than their steps and the known work between them
    goodput: float  # share of the run that its steps take by themselves
    checkpoint_seconds: float  # in total
    checkpoint_seconds_between: float
    lost_seconds: float  # repeated steps and restarts after failures
    failures: float  # expected number
    device_watts: float  # average per device
    energy_joules: Interval  # of machines and the data centre
    device_hours: Interval


def whole_run(
    step: Interval,
    steps: float,
    machine: TrainingMachine,
    mfu: float,
    habits: Habits | None = None,
    *,
    measured: bool = False,
    images: bool = False,
    overhead: float = 0.0,
    left_out: str = "",
) -> RunEstimate:
    """Return the run of a number of steps as complete runs go.

    It adds what is known to happen between steps, and multiplies by what published runs took beyond that. `measured`:
    the step is corrected by measured runs. `images`: images are loaded in a way that is not planned. `overhead`: the
    share of a step that is launches and Python. `left_out`: a family of published runs that is not used: see `overrun`.
    """
    known = habits or Habits()
    stepping = step.middle * steps
    failing = machine.devices * DEVICE_FAILURES_AN_HOUR / 3600
    write = _write_seconds(known, machine)
    between = known.checkpoint_seconds_between or _best_interval(write, failing, stepping)
    checkpointing = write * stepping / between
    useful = stepping * (1 + known.evaluation_share) + checkpointing
    lost = failing * useful * (between / 2 + RESTART_SECONDS)
    start = START_SECONDS if machine.nodes > 1 else START_SECONDS_ALONE
    known_overrun = overrun(machine, step, measured=measured, images=images, overhead=overhead, left_out=left_out)
    middle = known_overrun.factor * (useful + lost) + start
    seconds = known_overrun.interval(middle)
    # A run is not shorter than the least that its steps may take.
    seconds = replace(seconds, low=min(middle, max(seconds.low, step.low * steps)))
    watts = device_watts(machine.device, mfu)
    return RunEstimate(
        steps=steps,
        seconds=seconds,
        steps_alone=step.times(steps),
        overrun=known_overrun.factor,
        goodput=step.middle * steps / middle,
        checkpoint_seconds=checkpointing,
        checkpoint_seconds_between=between,
        lost_seconds=lost,
        failures=failing * useful,
        device_watts=watts,
        energy_joules=energy_joules(seconds, machine, watts),
        device_hours=seconds.times(machine.devices / 3600),
    )


def device_watts(device: ComputeDevice, mfu: float) -> float:
    """Return the average power of a device: its idle power, and the rest in proportion to its utilisation."""
    limit = device.power_watts or 0.0
    if device.kind is DeviceKind.CPU:
        return limit
    return limit * (IDLE_SHARE + (1 - IDLE_SHARE) * min(1.0, mfu / BUSY_MFU))


def energy_joules(seconds: Interval, machine: TrainingMachine, watts: float) -> Interval:
    """Return the energy of devices, hosts and data centre; the data centre's efficiency is the largest uncertainty."""
    machines = watts * machine.devices * (1 + HOST_SHARE)
    return Interval(
        seconds.low * machines * PUE.low, seconds.middle * machines * PUE.middle, seconds.high * machines * PUE.high
    )


def cost_dollars(seconds: Interval, device_hour_dollars: float, devices: int) -> Interval:
    """Return the cost of the devices at a price per hour and device."""
    return seconds.times(device_hour_dollars * devices / 3600)


def _write_seconds(habits: Habits, machine: TrainingMachine) -> float:
    if not habits.checkpoint_bytes:
        return 0.0
    speed = habits.checkpoint_bytes_per_second
    if habits.asynchronous:
        host = machine.device.host_link.bytes_per_second if machine.device.host_link else speed
        return habits.checkpoint_bytes / (machine.devices * host)
    return habits.checkpoint_bytes / (machine.nodes * speed)


def _best_interval(write_seconds: float, failures_per_second: float, run_seconds: float) -> float:
    """Return Young's interval between checkpoints, at most the run's length."""
    best = math.sqrt(2 * write_seconds / failures_per_second) if write_seconds else USUAL_SECONDS_BETWEEN
    return min(run_seconds, best)
