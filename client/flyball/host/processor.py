"""The processor: its model, cores, clocks and instructions, and how much of it this process may use."""

import os
import platform
import re

from flyball.host.catalogue_names import catalogue_device
from flyball.host.hardware_parts import HostNumaNode, HostProcessor
from flyball.host.kernel_numbers import read_count
from flyball.host.places import HostPlaces
from flyball.host.reasons import Reasons, add_reasons
from flyball.profiling.allowed_resources import allowed_cpus, own_groups
from flyball_agent.probes.cpu_energy import MICRO, PREFIX
from flyball_agent.probes.files import entries, read_text
from flyball_proto.v1 import telemetry_pb2 as pb

MEGA = 1_000_000

_FAMILIES = (
    ("AVX", "avx"),
    ("AVX2", "avx2"),
    ("AVX-512", "avx512"),
    ("AVX10", "avx10"),
    ("AMX", "amx_"),
    ("NEON", "asimd"),
    ("SVE", "sve"),
    ("SME", "sme"),
)
"""Families of instructions and how the kernel's flags of them begin."""

_HIGHEST_LIMIT = 1000.0
"""Watts of one socket. Firmware of desktop boards sets 4,095 W for "no limit"; no processor draws 1,000 W."""

REASONS = {
    "model": "the kernel reports no model",
    "vendor": "the kernel reports no vendor",
    "sockets": "the kernel reports no topology",
    "physical_cores": "the kernel reports no topology",
    "logical_cpus": "the kernel reports no topology",
    "architecture": "the kernel does not report it",
    "usable_cpus": "the kernel reports neither CPUs nor an affinity",
    "base_mhz": "neither the driver nor the model's name states it",
    "max_mhz": "no frequency driver (normal in a virtual machine)",
    "governor": "no frequency driver (normal in a virtual machine)",
    "last_level_cache_bytes": "the kernel reports no caches",
    "tdp_watts": "no RAPL power domain (normal in a virtual machine), and the model is not in the catalogue",
    "tdp_source": "the TDP is unknown",
    "catalogue_name": "the model is not in the catalogue; `flyball hardware` lists it",
}


def read_processor(places: HostPlaces, inventory: pb.Inventory, reasons: Reasons) -> HostProcessor:
    """Return the processor of the machine."""
    cpu = inventory.cpu
    features = tuple(cpu.features) or (("asimd",) if inventory.architecture in {"arm64", "aarch64"} else ())
    model = cpu.model or None
    device = catalogue_device(plain_model(model), "cpu") if model else None
    rapl = package_watts(places)
    vendor_watts = device.power_watts * max(1, cpu.sockets) if device and device.power_watts else None
    processor = HostProcessor(
        model=model,
        vendor=cpu.vendor or None,
        architecture=inventory.architecture or platform.machine() or None,
        sockets=cpu.sockets or None,
        physical_cores=cpu.cores or None,
        logical_cpus=cpu.threads or (os.cpu_count() if places.this_machine else None),
        usable_cpus=usable_cpus(places, inventory),
        base_mhz=cpu.base_hertz / MEGA or None,
        max_mhz=cpu.max_hertz / MEGA or None,
        simd=simd_families(features),
        features=features,
        numa_nodes=tuple(
            HostNumaNode(node=each.node, cpus=each.cpus, memory_bytes=each.memory_bytes or None)
            for each in inventory.numa_nodes
        ),
        governor=read_text(places.sys / "devices/system/cpu/cpu0/cpufreq/scaling_governor") or None,
        last_level_cache_bytes=last_level_cache(places),
        tdp_watts=rapl or vendor_watts,
        tdp_source="rapl" if rapl else "catalogue" if vendor_watts else None,
        catalogue_name=device.name if device else None,
    )
    add_reasons(reasons, "processor", processor, REASONS)
    return processor


def plain_model(model: str) -> str:
    """Return a model without trade marks, clock and number of cores.

    >>> plain_model("Intel(R) Xeon(R) Platinum 8481C CPU @ 2.70GHz")
    'Intel Xeon Platinum 8481C CPU'
    >>> plain_model("AMD EPYC 7763 64-Core Processor")
    'AMD EPYC 7763'
    """
    text = re.sub(r"\((R|TM|C)\)", "", model, flags=re.IGNORECASE)
    text = re.sub(r"@ .*$|\d+-Core Processor.*$|with Radeon.*$", "", text)
    return " ".join(text.split())


def simd_families(features: tuple[str, ...]) -> tuple[str, ...]:
    """Return the families of instructions. AVX is listed only without its successors."""
    found = [name for name, begin in _FAMILIES if any(_belongs(flag, begin) for flag in features)]
    return tuple(name for name in found if name != "AVX" or not {"AVX2", "AVX-512"} & set(found))


def _belongs(flag: str, begin: str) -> bool:
    return flag == begin or (begin in {"avx512", "avx10", "amx_", "asimd", "sve", "sme"} and flag.startswith(begin))


def usable_cpus(places: HostPlaces, inventory: pb.Inventory) -> float | None:
    """Return the CPUs that this process may use: all, by affinity, or by the quota of a control group."""
    limits = [float(each) for each in (inventory.cpu.threads, inventory.limits.cpus) if each]
    allowed = allowed_cpus(own_groups(places.proc, places.sys / "fs/cgroup")) if places.this_machine else None
    return min([*limits, *([allowed] if allowed else [])], default=None)


def last_level_cache(places: HostPlaces) -> int | None:
    """Return the size of the last cache of the first CPU."""
    caches = places.sys / "devices/system/cpu/cpu0/cache"
    found = [
        (read_count(caches / name / "level") or 0, cache_bytes(read_text(caches / name / "size") or ""))
        for name in entries(caches)
        if name.startswith("index")
    ]
    return max(found, default=(0, None), key=lambda pair: (pair[0], pair[1] or 0))[1]


def cache_bytes(text: str) -> int | None:
    """Parse a size as the kernel writes it, such as `32768K`."""
    match = re.fullmatch(r"(\d{1,12})([KMG]?)", text)
    return int(match[1]) * {"": 1, "K": 2**10, "M": 2**20, "G": 2**30}[match[2]] if match else None


def package_watts(places: HostPlaces) -> float | None:
    """Return the sustained power limit of all sockets, by RAPL; None if a socket has none."""
    powercap = places.sys / "class/powercap"
    packages = [
        powercap / name
        for name in entries(powercap)
        if name.startswith(PREFIX) and (read_text(powercap / name / "name") or "").startswith("package")
    ]
    watts = [_sustained(*(_watts(read_count(folder / name)) for name in _LIMITS)) for folder in packages]
    known = [each for each in watts if each is not None]
    return sum(known) if known and len(known) == len(watts) else None


_LIMITS = ("constraint_0_power_limit_uw", "constraint_0_max_power_uw")


def _watts(microwatts: int | None) -> float | None:
    return microwatts / MICRO if microwatts else None


def _sustained(limit: float | None, most: float | None) -> float | None:
    """Return the limit in force, or the processor's own where the firmware has set none."""
    if limit is not None and limit <= _HIGHEST_LIMIT:
        return limit
    return most if most is not None and most <= _HIGHEST_LIMIT else None
