"""The time of classical models on a processor or GPU: steps and bytes over the rates of their kind.

No implementation reaches the peak of a device, and the distance depends on data that no specification states. Nine of
ten measurements are between half and double the estimate.
"""

from collections.abc import Mapping

from msgspec import Struct

from flyball_planner.catalogue.hardware import ComputeDevice, DeviceKind
from flyball_planner.interval import Interval
from flyball_planner.models.classical import STEPS_A_SECOND
from flyball_planner.models.cost import ModelCost, Operator, OperatorKind
from flyball_planner.precision import NumberFormat
from flyball_reports.errors import InputError

SPREAD = 2.0  # the interval is from the middle divided by this to the middle times this
PRODUCT_SHARE = 0.6  # share of the peak that BLAS reaches in tall products from memory
STREAM_SHARE = 0.6  # share of the memory bandwidth of successive library calls
SMALL_SIDE = 16.0  # smaller side at which a product reaches half of that
STEP_SECONDS = 1.5e-9  # a scattered step of one core within its caches and page tables
NEAR_BYTES = 10e6  # size of caches and page tables: last-level cache, and 1,536 pages of 4 KiB
FARTHER = 0.4  # beyond it, a step takes (bytes / near)^this times as long, because of cache and page table misses
GPU_STEP_BYTES = 22.0  # GPU memory traffic of a scattered step
FP64_OF_FP32 = 0.5  # for processors, whose vectors hold half as many numbers
COMPUTE, MEMORY, LATENCY, SEQUENTIAL = "compute", "memory", "latency", "sequential"
"""What limits an operator: arithmetic, streaming, scattered accesses, or steps of one core."""
CALL_SECONDS = 1e-4  # of a call from Python, whatever it predicts: 0.1 ms (scikit-learn 1.9, linear models and trees)


class _Rates(Struct, frozen=True):
    """Rates of the complete device."""

    cores: int
    flops: float
    bytes: float
    scattered_steps: float
    product_share: float


def classical_seconds(cost: ModelCost, device: ComputeDevice, *, cores: int = 0) -> Interval:
    """Return the time from the first sample to the last; `cores` limits the processor's cores."""
    if cost.trained_by_gradient:
        raise InputError(f"{cost.model} is trained in gradient steps; estimate its step instead")
    rates = _rates(device, cost.precision, cores)
    operators = (operator for block in cost.blocks for operator in block.operators)
    sample_seconds = sum(operator.times * _seconds(operator, rates) for operator in operators)
    middle = sample_seconds * cost.samples * cost.passes
    return Interval(middle / SPREAD, middle, middle * SPREAD)


def classical_limit(cost: ModelCost, device: ComputeDevice) -> str:
    """Return what limits most of a fit's time: `compute`, `memory`, `latency` (scattered accesses) or `sequential`."""
    rates = _rates(device, cost.precision, 0)
    found: dict[str, float] = {}
    for block in cost.blocks:
        for operator in block.operators:
            for name, seconds in _causes(operator, rates).items():
                found[name] = found.get(name, 0.0) + operator.times * seconds
    return max(found, key=lambda name: found[name], default=MEMORY)


def prediction_seconds(cost: ModelCost, device: ComputeDevice, samples: int = 1, *, cores: int = 0) -> Interval:
    """Return the time to predict samples that are passed together; a single one is predicted by one core."""
    rates = _rates(device, cost.precision, 1 if samples == 1 else cores)
    middle = CALL_SECONDS * cost.inference_calls + samples * sum(
        each.times * _seconds(each, rates) for each in cost.inference
    )
    return Interval(middle / SPREAD, middle, middle * SPREAD)


def classical_rate(device: ComputeDevice, precision: str) -> float:
    """Return the device's FLOP/s in the format of a classical model's data."""
    return device.rate(NumberFormat.FP32) * (1.0 if precision == "fp32" else FP64_OF_FP32)


def _rates(device: ComputeDevice, precision: str, cores: int) -> _Rates:
    used = min(cores or device.cores, device.cores) if device.cores else max(1, cores)
    share = used / device.cores if device.cores else 1.0
    flops = classical_rate(device, precision) * share
    on_gpu = device.kind is DeviceKind.GPU
    scattered = device.memory_bytes_per_second / GPU_STEP_BYTES if on_gpu else used / STEP_SECONDS
    return _Rates(used, flops, device.memory_bytes_per_second, scattered, device.efficiency or PRODUCT_SHARE)


def _seconds(operator: Operator, rates: _Rates) -> float:
    return sum(_causes(operator, rates).values())


def _causes(operator: Operator, rates: _Rates) -> Mapping[str, float]:
    """Return the seconds of an operator by what they are spent on."""
    moving = operator.moved_bytes / (STREAM_SHARE * rates.bytes)
    match operator.kind:
        case OperatorKind.SEQUENTIAL:
            return {SEQUENTIAL: operator.flops / STEPS_A_SECOND}
        case OperatorKind.GATHER:
            distance: float = max(1.0, operator.inner / NEAR_BYTES) ** FARTHER
            return {LATENCY: distance * operator.flops / rates.scattered_steps, MEMORY: moving}
        case OperatorKind.MATMUL:
            side = min(operator.inner, operator.columns) or 1.0
            reached = rates.product_share * side / (side + SMALL_SIDE)
            computing = operator.flops / (reached * rates.flops)
            return {COMPUTE: computing} if computing > moving else {MEMORY: moving}
        case _:
            return {MEMORY: moving}
