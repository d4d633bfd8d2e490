"""The measured memory of a row: which memory, in which unit, and the estimate for it."""

from functools import lru_cache

from flyball_planner.accuracy.result import Unsuited
from flyball_planner.accuracy.rows.settings import RowSetting, read_device, read_setting
from flyball_planner.accuracy.rows.vocabulary import words
from flyball_planner.accuracy.tables import RowConfiguration, TableRow
from flyball_planner.catalogue.hardware import ComputeDevice
from flyball_planner.interval import Interval
from flyball_planner.layouts.layout import Layouts
from flyball_planner.memory.constants import GIB, MIB, Constants
from flyball_planner.memory.estimate import SPREAD, MemoryEstimate, estimate_memory

COMPONENTS = {
    "activation": "activations", "weight": "weights", "gradient": "gradients", "optimizer": "optimizer_states",
}  # fmt: skip
"""Parts of the estimate by the words that tables use."""

UNITS = {"gib": GIB, "gb (1024^3)": GIB, "mib": MIB, "mb": 1e6, "gb": 1e9, "gb (1e9)": 1e9}


def measured_bytes(row: TableRow) -> float:
    """Return the measured memory of a run."""
    shown = row.shown("mem_value")
    if shown is None:
        raise Unsuited(f"the run has no valid figure: {row.measured.get('mem_value') or 'empty'}")
    return shown * unit_bytes(row.configuration)


def unit_bytes(configuration: RowConfiguration) -> float:
    """Return the bytes of the row's unit."""
    unit = configuration["mem_unit"].casefold()
    if unit not in UNITS:
        raise Unsuited(f"unknown unit {unit!r}")
    return UNITS[unit]


def estimate_row(configuration: RowConfiguration, constants: Constants) -> MemoryEstimate:
    """Return the estimate for a row's configuration."""
    setting, device = _read(configuration)
    return estimate_memory(setting.subject, setting.training, Layouts.of(setting.layout), device, constants)


def matching_interval(configuration: RowConfiguration, estimate: MemoryEstimate) -> Interval:
    """Return the part of an estimate that the row measured: tensors, reserved memory, or the driver's figure."""
    component = words(configuration, "component")
    if component and "total" not in component:
        return _component(component, estimate)
    meaning = words(configuration, "mem_meaning")
    if "reserved" in meaning:
        return estimate.reserved[0]
    driver = any(each in meaning for each in ("nvidia-smi", "driver", "on the first/last nodes"))
    return (estimate.driver if driver else estimate.allocated)[0]


def _component(named: str, estimate: MemoryEstimate) -> Interval:
    """Return a single part of the memory; a mixture of parts has no figure of its own."""
    found = [part for word, part in COMPONENTS.items() if word in named]
    if len(found) != 1:
        raise Unsuited(f"the row measures {named!r}, which is not a part of the estimate")
    below, above = SPREAD[found[0]]
    return Interval.around(float(estimate.parts[found[0]][0]), below, above)


@lru_cache(maxsize=1024)
def _read(configuration: RowConfiguration) -> tuple[RowSetting, ComputeDevice]:
    return read_setting(configuration), read_device(configuration)
