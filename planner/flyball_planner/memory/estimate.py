"""The peak memory of a training on its fullest device, by named part, for many layouts at once."""

from collections.abc import Iterable, Mapping

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from flyball_planner.catalogue.hardware import ComputeDevice, DeviceKind
from flyball_planner.interval import Interval
from flyball_planner.layouts.layout import Column, Layouts
from flyball_planner.memory.allocator import SMALL_SEGMENT
from flyball_planner.memory.constants import CONSTANTS, Constants
from flyball_planner.memory.network import network_moments, placed_cache
from flyball_planner.memory.step_moments import Labels, StepMoment, peak_of
from flyball_planner.memory.transformer import transformer_moments
from flyball_planner.models.cost import ModelCost
from flyball_planner.models.transformer.shape import TransformerShape
from flyball_planner.training import Method, Training

Subject = TransformerShape | ModelCost

SPREAD: Mapping[str, tuple[float, float]] = {
    "weights": (0.01, 0.01),
    "gradients": (0.02, 0.02),
    "optimizer_states": (0.02, 0.02),
    "gathered_weights": (0.4, 0.3),
    "cast_weights": (0.3, 0.05),
    "activations": (0.2, 0.25),
    "logits": (0.4, 0.3),
    "working": (0.5, 0.6),
    "optimizer_step": (0.6, 0.2),
    "communication_buffers": (0.5, 0.5),
    "key_value_cache": (0.05, 0.1),
    "other_tensors": (1.0, 1.0),
}
"""How far each part may be below and above its estimate in nine of ten cases, as shares of the part."""

UNFUSED_SPREAD = (0.2, 0.6)
"""The same for activations under PyTorch 1. Lambda's BERT runs show it: with the containers of 2020 each sample takes
1.6 times the memory that it takes with those of 2021."""

UNKNOWN_LIBRARY = {"weights": (0.01, 0.25), "activations": (0.2, 0.6)}
"""The same for QLoRA without the details of its format: some libraries keep embeddings and output in fp32, and some
hold the inputs of 4-bit products."""

Positions = NDArray[np.intp]

SHORT_LIVED = ("gathered_weights", "activations", "logits", "working")


class Range(Struct, frozen=True):
    """Columns of 90 % intervals."""

    low: Column
    middle: Column
    high: Column

    def __getitem__(self, row: int) -> Interval:
        return Interval(float(self.low[row]), float(self.middle[row]), float(self.high[row]))

    def where(self, rows: Positions) -> "Range":
        """Select rows."""
        return Range(self.low[rows], self.middle[rows], self.high[rows])


class MemoryEstimate(Struct, frozen=True):
    """The bytes on the fullest device of each layout at the moment of its peak."""

    parts: Mapping[str, Column]  # tensors at that moment
    allocated: Range  # all tensors
    reserved: Range  # what the framework has taken from the driver for them, with its cache
    driver: Range  # as the driver reports it, with contexts and libraries
    allocator_cache: Column  # between allocated and reserved
    outside: Mapping[str, Column]  # between reserved and driver: contexts and libraries
    upper_only: Mapping[str, Column]  # amounts that only raise the upper ends
    stage: Labels  # the pipeline stage with the peak
    moment: Labels  # the moment of the step with the peak
    usable_bytes: float

    def __len__(self) -> int:
        return len(self.allocated.middle)

    def where(self, rows: Positions) -> "MemoryEstimate":
        """Select rows."""
        return MemoryEstimate(
            parts=_rows_of(self.parts, rows),
            allocated=self.allocated.where(rows),
            reserved=self.reserved.where(rows),
            driver=self.driver.where(rows),
            allocator_cache=self.allocator_cache[rows],
            outside=_rows_of(self.outside, rows),
            upper_only=_rows_of(self.upper_only, rows),
            stage=self.stage[rows],
            moment=self.moment[rows],
            usable_bytes=self.usable_bytes,
        )

    def breakdown(self, row: int) -> dict[str, float]:
        """Return everything that adds up to the driver's figure, largest first."""
        named = {name: float(column[row]) for name, column in self.parts.items()}
        named |= {name: float(column[row]) for name, column in self.outside.items()}
        named["allocator_cache"] = float(self.allocator_cache[row])
        return dict(sorted(((name, amount) for name, amount in named.items() if amount > 0), key=lambda each: -each[1]))


def estimate_memory(
    subject: Subject,
    training: Training,
    layouts: Layouts,
    device: ComputeDevice,
    constants: Constants = CONSTANTS,
) -> MemoryEstimate:
    """Estimate every layout; a single layout is a column of length one."""
    peak = peak_of(_moments(subject, training, layouts, constants), len(layouts))
    parts = _parts(peak.parts, constants)
    allocated = _range(parts, constants, _spread(training))
    loose: Column = sum((parts[name] for name in SHORT_LIVED), np.zeros(len(layouts)))
    cache = constants.allocator_share * loose
    if isinstance(subject, ModelCost):
        cache = placed_cache(subject, training, layouts, allocated.middle, otherwise=cache)
    upper_only = {"fragmentation": constants.fragmentation_share * loose, "spikes": constants.spike_share * loose}
    widening = np.hypot(*upper_only.values())
    reserved = _wider(allocated, cache, *_of_segments(device, cache, np.maximum(cache, widening)))
    outside = outside_bytes(layouts, device, constants)
    beyond = np.sum(list(outside.values()), axis=0)
    return MemoryEstimate(
        parts=parts,
        allocated=allocated,
        reserved=reserved,
        driver=_wider(reserved, beyond, 0.5 * beyond, 0.5 * beyond),
        allocator_cache=cache,
        outside=outside,
        upper_only=upper_only,
        stage=peak.stage,
        moment=peak.moment,
        usable_bytes=usable_bytes(device, constants),
    )


def _moments(subject: Subject, training: Training, layouts: Layouts, constants: Constants) -> Iterable[StepMoment]:
    if isinstance(subject, TransformerShape):
        return transformer_moments(subject, training, layouts, constants)
    return network_moments(subject, training, layouts, constants)


def _parts(found: Mapping[str, Column], constants: Constants) -> dict[str, Column]:
    """Return the parts at the peak, with what they leave out as a part of its own."""
    parts = {name: constants.total_factor * column for name, column in found.items()}
    return {**parts, "other_tensors": constants.omitted_share * np.sum(list(parts.values()), axis=0)}


def _rows_of(columns: Mapping[str, Column], rows: Positions) -> dict[str, Column]:
    return {name: column[rows] for name, column in columns.items()}


def _spread(training: Training) -> Mapping[str, tuple[float, float]]:
    """Return the uncertainty of each part. PyTorch 1's models often had GELU and norms in several kernels."""
    if training.method is Method.QLORA and training.quantisation is None:
        return {**SPREAD, **UNKNOWN_LIBRARY}
    return {**SPREAD, "activations": UNFUSED_SPREAD} if training.gradients_persist else SPREAD


def _range(parts: Mapping[str, Column], constants: Constants, spread: Mapping[str, tuple[float, float]]) -> Range:
    """Return the range of a sum. The parts' errors are independent, so their spreads add in squares."""
    middle = np.sum(list(parts.values()), axis=0)
    squares = np.array([[(spread[name][side] * column) ** 2 for name, column in parts.items()] for side in (0, 1)])
    below, above = constants.spread_factor * np.sqrt(squares.sum(axis=1) + (constants.whole_spread * middle) ** 2)
    return Range(np.maximum(0.0, middle - below), middle, middle + above)


def _of_segments(device: ComputeDevice, *spreads: Column) -> Iterable[Column]:
    """Widen spreads of reserved memory by half a segment or more, because the driver hands out complete segments."""
    segment = SMALL_SEGMENT if device.kind is DeviceKind.GPU else 0.0
    return (np.hypot(each, segment) for each in spreads)


def _wider(inner: Range, more: Column, below: Column, above: Column) -> Range:
    middle = inner.middle + more
    low = np.maximum(0.0, middle - np.hypot(inner.middle - inner.low, below))
    high = middle + np.hypot(inner.high - inner.middle, above)
    return Range(np.asarray(low, dtype=float), middle, np.asarray(high, dtype=float))


def outside_bytes(layouts: Layouts, device: ComputeDevice, constants: Constants) -> dict[str, Column]:
    """Return contexts and libraries: a context on every device with a driver, collectives if there are several
    devices."""
    served = np.full(len(layouts), float(device.kind is DeviceKind.GPU))
    return {
        "device_context": served * constants.context_bytes,
        "product_workspaces": served * constants.workspace_bytes,
        "collectives_library": served * np.where(layouts.devices > 1, constants.library_bytes, 0.0),
    }


def usable_bytes(device: ComputeDevice, constants: Constants) -> float:
    if device.visible_bytes is not None:
        return device.visible_bytes
    return device.memory_bytes * (constants.visible_share if device.kind is DeviceKind.GPU else 1.0)
