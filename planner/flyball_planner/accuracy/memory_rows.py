"""What a row of measured memory says: which memory, in which unit, and the estimate that belongs to it."""

from functools import lru_cache

from flyball_planner.accuracy.result import Unsuited
from flyball_planner.accuracy.rows.settings import Setting, read_device, read_setting
from flyball_planner.accuracy.rows.words import words
from flyball_planner.accuracy.tables import Configuration, Row
from flyball_planner.catalogue.hardware import Device
from flyball_planner.interval import Interval
from flyball_planner.layouts.columns import Layouts
from flyball_planner.memory.constants import GIB, MIB, Constants
from flyball_planner.memory.estimate import MemoryEstimate, estimate_memory

UNITS = {"gib": GIB, "gb (1024^3)": GIB, "mib": MIB, "mb": 1e6, "gb": 1e9, "gb (1e9)": 1e9}


def measured_bytes(row: Row) -> float:
    """The memory that a run showed."""
    shown = row.shown("mem_value")
    if shown is None:
        raise Unsuited(f"the run showed no figure: {row.measured.get('mem_value') or 'empty'}")
    return shown * unit_bytes(row.configuration)


def unit_bytes(configuration: Configuration) -> float:
    """What the row's unit stands for."""
    unit = configuration["mem_unit"].casefold()
    if unit not in UNITS:
        raise Unsuited(f"the unit {unit!r} is not known")
    return UNITS[unit]


def estimate_row(configuration: Configuration, constants: Constants) -> MemoryEstimate:
    """The estimate for a row's configuration."""
    setting, device = _read(configuration)
    return estimate_memory(setting.subject, setting.training, Layouts.of(setting.layout), device, constants)


def meant(configuration: Configuration, estimate: MemoryEstimate) -> Interval:
    """Of an estimate the memory that the row measured: tensors, what is reserved for them, or what the driver shows."""
    told = words(configuration, "mem_meaning")
    if "reserved" in told:
        return estimate.reserved[0]
    driver = any(each in told for each in ("nvidia-smi", "driver", "on the first/last nodes"))
    return (estimate.driver if driver else estimate.allocated)[0]


@lru_cache(maxsize=1024)
def _read(configuration: Configuration) -> tuple[Setting, Device]:
    return read_setting(configuration), read_device(configuration)
