"""Processors. Rates follow from cores, clock and operations per cycle."""

from collections.abc import Mapping
from functools import cache

from flyball_planner.catalogue.hardware import ComputeDevice, DeviceKind, DeviceLink
from flyball_planner.catalogue.tables import Row, listed, table
from flyball_planner.precision import NumberFormat

GIB_A_THREAD = 4.0
"""Memory of processors without a given size: that of AWS's general-purpose instances (m5, m6i, m7i) per thread."""

CYCLES = {
    "fp32_flops_per_cycle": NumberFormat.FP32,
    "bf16_flops_per_cycle": NumberFormat.BF16,
    "int8_ops_per_cycle": NumberFormat.INT8,
}


def processor(name: str) -> ComputeDevice | None:
    """Return the processor of exactly this name."""
    row = next((row for row in table("cpus") if row["name"] == name), None)
    return None if row is None else _processor(row, _architectures()[row["architecture"]])


@cache
def _architectures() -> Mapping[str, Row]:
    return {row["name"]: row for row in table("cpu_architectures")}


def _processor(row: Row, architecture: Row) -> ComputeDevice:
    cycles = int(row["cores"]) * float(row["base_ghz"]) * 1e9
    # A channel is 64 bits wide (JEDEC DDR3 to DDR5).
    moved = int(architecture["memory_channels"]) * float(architecture["memory_mega_transfers"]) * 1e6 * 8
    given = float(row["memory_gib"]) if row["memory_gib"] else GIB_A_THREAD * int(row["threads"])
    assumed = "" if row["memory_gib"] else f"assumed memory: {GIB_A_THREAD:g} GiB per thread"
    return ComputeDevice(
        name=row["name"],
        kind=DeviceKind.CPU,
        vendor=row["vendor"],
        architecture=row["architecture"],
        memory_bytes=given * 2**30,
        memory_bytes_per_second=moved,
        flops_per_second={each: cycles * float(architecture[key]) for key, each in CYCLES.items() if architecture[key]},
        within_node=DeviceLink("memory", moved),
        power_watts=float(row["power_watts"]) if row["power_watts"] else None,
        cores=int(row["cores"]),
        launch_year=int(row["launch_year"]) if row["launch_year"] else None,
        confidence=row["confidence"],
        source=f"{row['source']}; {architecture['source']}",
        note="; ".join(filter(None, (row["note"], architecture["note"], assumed))),
        devices_a_node=1,
        aliases=listed(row, "aliases"),
    )
