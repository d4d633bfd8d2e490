"""A table of the answers of NVML on each chip: values, fields by number, and what is unsupported.

Sources:
- dump: every field and call of an H100 SXM (driver 580.159.04, in a virtual machine without NVLink)
- header: comments of nvml.h (CUDA 13), such as "supported on Ada and later" and "unsupported for Blackwell+"
- mock: NVIDIA/k8s-test-infra, pkg/gpu/mocknvml/configs and engine/nvlink_fields.go (commit 3b2b865d)
- issue: https://github.com/NVIDIA/DCGM/issues/173, NVLink totals of an HGX H100 are not available
Without another source, a chip answers like the H100.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from flyball_agent.standin.cards import A100 as A100_CARD
from flyball_agent.standin.cards import GIB, Values
from flyball_agent.standin.cards import H100 as H100_CARD
from flyball_agent.standin.scenario import ALL_GPUS, Number, Scenario

_FIRST = (0, 0)


@dataclass(frozen=True, slots=True)
class FieldAnswer:
    """A field that the chip supports, its type, and the scopes (links, or parts of the board) for which it does."""

    number: int
    value: Number = 0
    kind: str = "ulonglong"
    scopes: tuple[int, int] = _FIRST


@dataclass(frozen=True, slots=True)
class Chip:
    """One chip. `links` is the number of NVLinks, `counters` those of nvmlDeviceGetNvLinkErrorCounter."""

    values: Values
    fields: tuple[FieldAnswer, ...]
    links: int = 0
    counters: tuple[int, ...] = ()


def set_chip(scenario: Scenario, name: str, gpu: int | None = ALL_GPUS) -> Scenario:
    """Make a GPU of the scenario answer like a chip: what it supports, and nothing else."""
    chip = CHIPS[name]
    scenario.set(chip.values, gpu)
    for answer in chip.fields:
        scenario.field(answer.number, answer.value, gpu, kind=answer.kind, scopes=answer.scopes)
    for counter in chip.counters:
        scenario.link_counter(counter, 0, gpu, links=(0, chip.links - 1))
    return scenario


def _uints(numbers: range | tuple[int, ...], value: Number = 0) -> tuple[FieldAnswer, ...]:
    return tuple(FieldAnswer(number, value, "uint") for number in numbers)


def _limits(lowest: int, highest: int) -> tuple[FieldAnswer, ...]:
    """Return the power limits in milliwatts: lowest, highest and default."""
    return (*_uints((187,), lowest), *_uints((188, 189), highest))


def _of_links(links: int, *numbers: int) -> tuple[FieldAnswer, ...]:
    return tuple(FieldAnswer(number, scopes=(0, links - 1)) for number in numbers)


# dump: on an H100 at 41 °C with a limit of 87 °C; header: Ada and later
_MARGINS = tuple(FieldAnswer(number, value, "int") for number, value in ((193, -8), (194, -2), (195, 0), (196, 0)))
_PCIE_ERRORS = _uints((169, *range(173, 184)))  # dump
_MEMORY_POWER = (FieldAnswer(185, 43_000, "uint", (2, 2)),)  # dump, and "GPU Memory Power Readings" of nvidia-smi
_NVLINK_5 = (*range(201, 205), *range(206, 216), *range(219, 223), *range(235, 251))  # header, mock

_NO_LEGACY: Values = {"nvlink_crc_flit": None, "nvlink_crc_data": None, "nvlink_replay": None, "nvlink_recovery": None}
_NO_NVLINK: Values = {
    **_NO_LEGACY, "nvlinks": None, "nvlinks_active": None, "nvlink_transmit_kib": None, "nvlink_receive_kib": None,
}  # fmt: skip
_NO_GPM: Values = {f"gpm_{name}": None for name in (
    "sm_active", "sm_occupancy", "tensor_active", "dram_active", "pcie_transmit", "pcie_receive",
)}  # fmt: skip
_FABRIC: Values = {  # header: Hopper and newer, with NVSwitch; mock: completed and healthy
    "fabric_state": 3, "fabric_status": 0, "fabric_clique": 0, "fabric_health": 1,
    "cluster": "00000000-0000-0000-0000-000000000001",
}  # fmt: skip

_H100 = Chip(
    values={
        **H100_CARD, **_FABRIC, **_NO_LEGACY, "temperature_slowdown": 89, "temperature_shutdown": 95,
    },
    fields=(
        *_limits(200_000, 700_000), *_uints((185,), 71_742), *_MEMORY_POWER, *_MARGINS, *_PCIE_ERRORS,
        *_of_links(18, 161, 162, 163),  # header: unsupported since Blackwell
    ),
    links=18,
    counters=(0, 1, 2),
)  # fmt: skip
_A100 = Chip(  # header: no activity counters (Hopper), margins (Ada), mean power (not GA100) and fabric (Hopper)
    values=A100_CARD,
    fields=(*_limits(100_000, 400_000), *_PCIE_ERRORS, FieldAnswer(160)),
    links=12,
    counters=(0, 1, 2, 3, 4),
)
_B200 = Chip(
    values={
        **_H100.values, "name": "NVIDIA B200", "compute_major": 10, "architecture": 10, "memory_total": 192 * GIB,
        "power": 130_000, "power_limit": 1_000_000, "clock_sm": 345, "clock_sm_max": 2100, "clock_memory": 2500,
        "clock_memory_max": 2500, "temperature_slowdown": 90, "temperature_shutdown": 95,
        "temperature_operating_max": 85, "temperature_memory_max": None, "bar1_total": 256 * GIB, "pcie_generation": 6,
        "pcie_generation_max": 6, "vbios": "96.00.A0.00.01", "board_part": "699-2G540-0200-000",
        "inforom": "B200.0200.00.01",
    },
    fields=(
        *_limits(400_000, 1_200_000), *_uints((189,), 1_000_000), *_uints((185,), 130_000), *_MARGINS,
        *_PCIE_ERRORS, *_of_links(18, *_NVLINK_5),
    ),
    links=18,
)  # fmt: skip
_GB200 = Chip(  # mock: chip-to-chip links to the Grace CPU; header: module power of CPU and GPU
    values={
        **_B200.values, "name": "NVIDIA GB200", "power": 145_000, "bar1_total": 512 * GIB,
        "inforom": "G530.0200.00.01", "board_part": None, "fabric_clique": 7,
    },
    fields=(
        *_B200.fields, *_uints((170,), 10), FieldAnswer(171, 1, "uint", (0, 9)), *_uints((231, 232, 233)),
        FieldAnswer(186, 400_000, "uint", (1, 1)),
    ),
    links=18,
)  # fmt: skip
_L40S = Chip(
    values={
        **H100_CARD, **_NO_NVLINK, **_NO_GPM, "name": "NVIDIA L40S", "compute_major": 8, "compute_minor": 9,
        "architecture": 8, "memory_total": 48 * GIB, "power": 45_000, "power_limit": 350_000, "clock_sm": 210,
        "clock_sm_max": 2520, "clock_memory": 10_001, "clock_memory_max": 10_001, "temperature_slowdown": 93,
        "temperature_shutdown": 96, "temperature_operating_max": 89, "temperature_memory_max": None,
        "memory_temperature": None, "mig_enabled": None, "pcie_generation": 4, "pcie_generation_max": 4,
        "bar1_total": 256 * GIB, "vbios": "95.02.5C.00.03", "board_part": "900-2G133-0020-000",
        "inforom": "G133.0020.00.02",
    },
    fields=(*_limits(100_000, 350_000), *_uints((185,), 45_000), *_MARGINS, *_PCIE_ERRORS),
)  # fmt: skip
_T4 = Chip(  # header: no row remapping and SRAM status (Ampere), but retired pages
    values={
        **_L40S.values, "name": "NVIDIA T4", "compute_major": 7, "compute_minor": 5, "architecture": 6,
        "memory_total": 16 * GIB, "power": 12_000, "power_limit": 70_000, "clock_sm": 300, "clock_sm_max": 1590,
        "clock_memory": 5001, "clock_memory_max": 5001, "temperature_margin": None, "pcie_generation": 3,
        "pcie_generation_max": 3, "remapped_corrected": None, "remapped_uncorrected": None, "remapped_pending": None,
        "remapped_failed": None, "sram_corrected": None, "retired_corrected": 0, "retired_uncorrected": 0,
        "retired_pending": 0, "vbios": "90.04.84.00.06", "board_part": "900-2G183-0000-000",
        "inforom": "G183.0200.00.02",
    },
    fields=(*_limits(60_000, 70_000), *_PCIE_ERRORS),
)  # fmt: skip

CHIPS: Mapping[str, Chip] = MappingProxyType(
    {"A100": _A100, "H100": _H100, "B200": _B200, "GB200": _GB200, "L40S": _L40S, "T4": _T4}
)
