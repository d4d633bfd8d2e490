"""The processor of the host, from `/proc/cpuinfo` and sysfs."""

import re
from pathlib import Path

from flyball_agent.probes.files import entries, read_number, read_text
from flyball_proto.v1 import telemetry_pb2 as pb

FEATURES = (
    "avx", "avx2", "f16c", "fma", "avx_vnni", "avx512f", "avx512_vnni", "avx512_bf16", "avx512_fp16", "avx10_1",
    "amx_tile", "amx_int8", "amx_bf16", "amx_fp16",
    "asimd", "asimdhp", "asimddp", "bf16", "i8mm", "sve", "sve2", "svebf16", "svei8mm", "sme", "sme2",
)  # fmt: skip
"""Instruction sets that decide how fast a CPU trains or prepares data: x86 first, then Arm."""

ARM_VENDORS = {
    "0x41": "Arm",
    "0x4e": "NVIDIA",
    "0x51": "Qualcomm",
    "0x61": "Apple",
    "0xc0": "Ampere",
    "0x48": "HiSilicon",
}
_CLOCK_IN_NAME = re.compile(r"@ ([0-9.]+)GHz")


def parse_cpuinfo(text: str) -> dict[str, str]:
    """Return the lines of the first processor."""
    first = text.split("\n\n", 1)[0]
    pairs = (line.partition(":") for line in first.splitlines())
    return {key.strip(): value.strip() for key, colon, value in pairs if colon}


def read_cpu(proc_root: Path, sys_root: Path) -> pb.Cpu:
    """Read the processor, its cores and its clocks; 0 and empty mean unknown."""
    cpuinfo = parse_cpuinfo(read_text(proc_root / "cpuinfo") or "")
    cpus = sys_root / "devices/system/cpu"
    sockets, cores, threads = topology(cpus)
    flags = set((cpuinfo.get("flags") or cpuinfo.get("Features") or "").split())
    return pb.Cpu(
        model=cpuinfo.get("model name") or read_text(sys_root / "firmware/devicetree/base/model") or "",
        vendor=cpuinfo.get("vendor_id") or ARM_VENDORS.get(cpuinfo.get("CPU implementer", ""), ""),
        sockets=sockets,
        cores=cores,
        threads=threads,
        base_hertz=base_hertz(cpuinfo, cpus),
        max_hertz=(read_number(cpus / "cpu0/cpufreq/cpuinfo_max_freq") or 0) * 1000,
        features=[feature for feature in FEATURES if feature in flags],
    )


def topology(cpus: Path) -> tuple[int, int, int]:
    """Return the number of sockets, cores and threads that are online."""
    threads = []
    for name in entries(cpus):
        if name.startswith("cpu") and name[3:].isdigit():
            package = read_text(cpus / name / "topology/physical_package_id")
            core = read_text(cpus / name / "topology/core_id")
            if package is not None and core is not None:
                # Two dies of one package may use the same core number, so a core is identified by its threads.
                siblings = read_text(cpus / name / "topology/thread_siblings_list")
                threads.append((package, siblings or f"core {core}"))
    return len({package for package, _ in threads}), len(set(threads)), len(threads)


def base_hertz(cpuinfo: dict[str, str], cpus: Path) -> int:
    """Return the guaranteed clock from the driver, the firmware or the model name.

    In a virtual machine it is the clock that the kernel measured. 0: unknown.
    """
    if kilohertz := read_number(cpus / "cpu0/cpufreq/base_frequency"):
        return kilohertz * 1000
    if megahertz := read_number(cpus / "cpu0/acpi_cppc/nominal_freq"):
        return megahertz * 1_000_000
    if match := _CLOCK_IN_NAME.search(cpuinfo.get("model name", "")):
        return round(float(match[1]) * 1000) * 1_000_000
    if (cpus / "cpu0/cpufreq").exists():
        return 0
    try:
        return round(float(cpuinfo.get("cpu MHz", "0"))) * 1_000_000
    except ValueError:
        return 0
