"""The peak of a training's memory on its fullest device, by named part, for many layouts at once."""

from collections.abc import Iterable, Mapping

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from flyball_planner.catalogue.hardware import Device, DeviceKind
from flyball_planner.interval import Interval
from flyball_planner.layouts.columns import Column, Layouts
from flyball_planner.memory.allocator import SMALL_SEGMENT
from flyball_planner.memory.constants import CONSTANTS, Constants
from flyball_planner.memory.network import network_phases, placed_cache
from flyball_planner.memory.phases import Phase, Words, peak_of
from flyball_planner.memory.transformer import transformer_phases
from flyball_planner.models.cost import ModelCost
from flyball_planner.models.transformer.shape import TransformerShape
from flyball_planner.training import Method, Training

Subject = TransformerShape | ModelCost

SPREAD: Mapping[str, tuple[float, float]] = {
    "weights": (0.01, 0.01),
    "gradients": (0.02, 0.02),
    "optimizer_states": (0.02, 0.02),
    "gathered_weights": (0.4, 0.3),
    "activations": (0.2, 0.25),
    "logits": (0.4, 0.3),
    "working": (0.5, 0.6),
    "optimizer_step": (0.6, 0.2),
    "communication_buffers": (0.5, 0.5),
    "key_value_cache": (0.05, 0.1),
}
"""How far a part may lie below and above its estimate, nine times in ten, as shares of it."""

WHOLE_SPREAD = 0.085
"""The same for what the parts leave out, as a share of the whole. Fitted on the suites of measured peaks together."""

Positions = NDArray[np.intp]

COMING_AND_GOING = ("gathered_weights", "activations", "logits", "working")


class Range(Struct, frozen=True):
    """Columns of 90 % intervals."""

    low: Column
    middle: Column
    high: Column

    def __getitem__(self, row: int) -> Interval:
        return Interval(float(self.low[row]), float(self.middle[row]), float(self.high[row]))

    def where(self, rows: Positions) -> "Range":
        """Some of the rows."""
        return Range(self.low[rows], self.middle[rows], self.high[rows])


class MemoryEstimate(Struct, frozen=True):
    """What the fullest device of each layout takes at its worst moment, in bytes."""

    parts: Mapping[str, Column]  # of what tensors take, at that moment
    allocated: Range  # all tensors
    reserved: Range  # what the framework has taken from the driver for them
    driver: Range  # what the driver shows: with contexts and libraries
    allocator_cache: Column  # between allocated and reserved
    outside: Mapping[str, Column]  # between reserved and driver: contexts and libraries
    upper_only: Mapping[str, Column]  # what widens the upper ends alone
    stage: Words  # of the pipeline that holds the peak
    moment: Words  # of the step at which it comes
    usable_bytes: float

    def __len__(self) -> int:
        return len(self.allocated.middle)

    def where(self, rows: Positions) -> "MemoryEstimate":
        """Some of the rows."""
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
        """Everything that adds up to what the driver shows, largest first."""
        named = {name: float(column[row]) for name, column in self.parts.items()}
        named |= {name: float(column[row]) for name, column in self.outside.items()}
        named["allocator_cache"] = float(self.allocator_cache[row])
        return dict(sorted(((name, amount) for name, amount in named.items() if amount > 0), key=lambda each: -each[1]))


def estimate_memory(
    subject: Subject,
    training: Training,
    layouts: Layouts,
    device: Device,
    constants: Constants = CONSTANTS,
) -> MemoryEstimate:
    """Estimate every layout; a single one is a column of length one."""
    peak = peak_of(_phases(subject, training, layouts, constants), len(layouts))
    parts = {name: constants.whole_factor * column for name, column in peak.parts.items()}
    allocated = _range(parts, constants, _spread(training, constants))
    loose: Column = sum((parts[name] for name in COMING_AND_GOING), np.zeros(len(layouts)))
    cache = constants.allocator_share * loose
    if isinstance(subject, ModelCost):
        cache = placed_cache(subject, training, layouts, allocated.middle, otherwise=cache)
    upper_only = {"fragmentation": constants.fragmentation_share * loose, "spikes": constants.spike_share * loose}
    widening = np.hypot(*upper_only.values())
    reserved = _wider(allocated, cache, *_of_segments(device, cache, np.maximum(cache, widening)))
    outside = _outside(layouts, device, constants)
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
        usable_bytes=_usable(device, constants),
    )


def _phases(subject: Subject, training: Training, layouts: Layouts, constants: Constants) -> Iterable[Phase]:
    if isinstance(subject, TransformerShape):
        return transformer_phases(subject, training, layouts, constants)
    return network_phases(subject, training, layouts, constants)


def _rows_of(columns: Mapping[str, Column], rows: Positions) -> dict[str, Column]:
    return {name: column[rows] for name, column in columns.items()}


def _spread(training: Training, constants: Constants) -> Mapping[str, tuple[float, float]]:
    if training.method is not Method.QLORA or not training.quantised_outputs_kept:
        return SPREAD
    below, above = SPREAD["activations"]
    widest = constants.quantised_spread
    return {**SPREAD, "activations": (max(below, widest), max(above, widest))}


def _range(parts: Mapping[str, Column], constants: Constants, spread: Mapping[str, tuple[float, float]]) -> Range:
    """Parts err apart from each other, so their spreads add in squares."""
    middle = np.sum(list(parts.values()), axis=0)
    squares = np.array([[(spread[name][side] * column) ** 2 for name, column in parts.items()] for side in (0, 1)])
    below, above = constants.spread_factor * np.sqrt(squares.sum(axis=1) + (WHOLE_SPREAD * middle) ** 2)
    return Range(np.maximum(0.0, middle - below), middle, middle + above)


def _of_segments(device: Device, *spreads: Column) -> Iterable[Column]:
    """Spreads of what is reserved: the driver gives whole segments, and whether one more was needed nobody can tell."""
    segment = SMALL_SEGMENT if device.kind is DeviceKind.GPU else 0.0
    return (np.hypot(each, segment) for each in spreads)


def _wider(inner: Range, more: Column, below: Column, above: Column) -> Range:
    middle = inner.middle + more
    low = np.maximum(0.0, middle - np.hypot(inner.middle - inner.low, below))
    high = middle + np.hypot(inner.high - inner.middle, above)
    return Range(np.asarray(low, dtype=float), middle, np.asarray(high, dtype=float))


def _outside(layouts: Layouts, device: Device, constants: Constants) -> dict[str, Column]:
    """Contexts exist on devices that a driver serves; the library of collectives where there are several."""
    served = np.full(len(layouts), float(device.kind is DeviceKind.GPU))
    return {
        "device_context": served * constants.context_bytes,
        "product_workspaces": served * constants.workspace_bytes,
        "collectives_library": served * np.where(layouts.devices > 1, constants.library_bytes, 0.0),
    }


def _usable(device: Device, constants: Constants) -> float:
    if device.visible_bytes is not None:
        return device.visible_bytes
    return device.memory_bytes * (constants.visible_share if device.kind is DeviceKind.GPU else 1.0)
