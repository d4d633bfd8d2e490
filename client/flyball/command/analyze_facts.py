"""The parts of a host as lines of text: what it has, and what a training may use of it."""

from collections import Counter

from flyball.host.hardware_parts import HostGpu
from flyball.host.hardware_profile import HardwareProfile
from flyball.host_review.host_review import HostReview
from flyball.host_review.memory_rules import SHARED
from flyball_reports.figures import percent, plural, rate, size

Facts = list[tuple[str, str]]

PHYSICAL = frozenset({"ethernet", "infiniband", "wireless"})
FORMATS = ("fp32", "tf32", "fp16", "bf16", "fp8", "fp4", "int8")


def host_facts(review: HostReview) -> Facts:
    """Return the parts of a host; a part that is unknown has its reason."""
    profile = review.profile
    rows = [
        ("System", _system(profile)),
        ("Processor", _processor(profile)),
        ("Memory", _memory(profile)),
        ("Swap", _swap(profile)),
        ("GPU", _gpus(profile)),
        ("Precision", _precision(profile)),
        ("Software", _software(profile)),
        ("Folder", _folder(profile)),
        ("Disks", _disks(profile)),
        ("Network", _network(profile)),
        ("Power", _power(review)),
        ("Supply", _supply(review)),
        ("Cooling", _cooling(review)),
        ("Limits", _limits(profile)),
        ("Unknown", _missing(profile)),
    ]
    return [(name, text) for name, text in rows if text]


def _joined(*words: str | None) -> str:
    return ", ".join(word for word in words if word)


def _unknown(profile: HardwareProfile, path: str) -> str:
    reason = profile.unavailable.get(path, "")
    return f"unknown: {reason}" if reason else "unknown"


def _system(profile: HardwareProfile) -> str:
    software = profile.software
    python = f"Python {software.python_version}" if software.python_version else None
    return _joined(software.operating_system, software.kernel, python)


def _processor(profile: HardwareProfile) -> str:
    processor = profile.processor
    cores = plural(processor.physical_cores, "core") if processor.physical_cores else None
    threads = plural(processor.logical_cpus, "thread") if processor.logical_cpus else None
    clock = processor.max_mhz or processor.base_mhz
    nodes = len(processor.numa_nodes)
    text = _joined(
        processor.model,
        f"{cores} ({threads})" if cores and threads else cores or threads,
        f"{processor.sockets} sockets" if (processor.sockets or 1) > 1 else None,
        f"{clock / 1000:.3g} GHz" if clock else None,
        " ".join(processor.simd),
        f"{nodes} NUMA nodes" if nodes > 1 else None,
        f"governor {processor.governor}" if processor.governor else None,
    )
    return text or _unknown(profile, "processor.model")


def _memory(profile: HardwareProfile) -> str:
    memory = profile.memory
    if memory.total_bytes is None:
        return _unknown(profile, "memory.total_bytes")
    speed = f"{memory.mega_transfers_per_second:,.0f} MT/s" if memory.mega_transfers_per_second else None
    free = f"{size(memory.available_bytes)} available" if memory.available_bytes is not None else None
    return _joined(
        f"{size(memory.total_bytes)} {memory.kind or ''}".strip(),
        speed,
        plural(memory.modules, "module") if memory.modules else None,
        "ECC" if memory.ecc else None,
        free,
        f"{SHARED} {size(memory.shared_memory_bytes)}" if memory.shared_memory_bytes is not None else None,
        f"huge pages {memory.huge_pages}" if memory.huge_pages else None,
    )


def _swap(profile: HardwareProfile) -> str:
    if not profile.swaps:
        return "none"
    words = []
    for swap in profile.swaps:
        on = f" on {swap.disk_kind}" if swap.disk_kind and swap.kind != "zram" else ""
        about = "about " if swap.speed_is_estimate else ""
        speed = f", {about}{rate(swap.mb_per_second * 1e6, 'B/s')}" if swap.mb_per_second else ""
        words.append(f"{size(swap.bytes)} {swap.kind}{on}{speed}")
    return "; ".join(words)


def _gpus(profile: HardwareProfile) -> str:
    if not profile.gpus:
        return "none found"
    counts = Counter(_gpu(each) for each in profile.gpus)
    return "; ".join(f"{number} × {text}" if number > 1 else text for text, number in counts.items())


def _gpu(gpu: HostGpu) -> str:
    """Return a description that is equal for equal cards, so without what changes by the second."""
    name = gpu.model or gpu.catalogue_name or "GPU of an unknown model"
    limit = gpu.power_limit_watts or gpu.tdp_watts
    lanes = min((each for each in (gpu.pcie_width, gpu.pcie_width_max) if each), default=None)
    return _joined(
        name,
        size(gpu.memory_bytes) if gpu.memory_bytes and not gpu.unified_memory else None,
        f"{limit:.0f} W" if limit else None,
        f"PCIe {gpu.pcie_generation_max} x{lanes}" if gpu.pcie_generation_max and lanes else None,
        plural(gpu.nvlinks, "NVLink") if gpu.nvlinks else None,
        f"capability {gpu.compute_capability}" if gpu.compute_capability else None,
        "split (MIG)" if gpu.mig_enabled else None,
    )


def _precision(profile: HardwareProfile) -> str:
    known = [each for each in profile.gpus if each.precisions]
    if not known:
        return ""
    can = [name for name in FORMATS if all(each.precisions.get(name) for each in known)]
    lacks = [name for name in FORMATS if name in known[0].precisions and name not in can]
    return " ".join(can) + (f"; without {' '.join(lacks)}" if lacks else "")


def _software(profile: HardwareProfile) -> str:
    software = profile.software
    torch = software.packages.get("torch")
    build = f" for {software.torch_build}" if torch and software.torch_build and "+" not in torch else ""
    return _joined(
        f"CUDA {software.cuda_version}" if software.cuda_version else None,
        f"driver {software.nvidia_driver}" if software.nvidia_driver else None,
        f"ROCm {software.rocm_version}" if software.rocm_version else None,
        software.metal,
        f"OpenCL ({', '.join(software.opencl)})" if software.opencl else None,
        f"PyTorch {torch}{build}" if torch else None,
        *(f"{name} {version}" for name, version in software.packages.items() if name != "torch"),
    )


def _folder(profile: HardwareProfile) -> str:
    folder = profile.folder
    if folder is None:
        return ""
    kind = _joined(folder.kind, folder.file_system)
    on = f" on {folder.device}" if folder.device else ""
    free = (
        f"{size(folder.free_bytes)} of {size(folder.bytes)} free"
        if folder.free_bytes is not None and folder.bytes
        else ""
    )
    return _joined(f"{folder.path}{on}{f' ({kind})' if kind else ''}", free)


def _disks(profile: HardwareProfile) -> str:
    counts = Counter(
        " ".join(filter(None, (each.kind or "disk", size(each.bytes) if each.bytes else ""))) for each in profile.disks
    )
    return "; ".join(f"{number} × {text}" if number > 1 else text for text, number in counts.items())


def _network(profile: HardwareProfile) -> str:
    found = [each for each in profile.networks if each.kind in PHYSICAL]
    counts = Counter(
        f"{each.kind} {rate(each.megabits_per_second * 1e6, 'bit/s')}"
        if each.megabits_per_second
        else f"{each.kind} of unknown rate"
        for each in found
    )
    return "; ".join(f"{number} × {text}" if number > 1 else text for text, number in counts.items())


def _power(review: HostReview) -> str:
    power = review.power
    source = {"battery": "on battery", "mains": "on mains"}.get(review.profile.power.source or "", "")
    charge = review.profile.power.battery_percent
    now = review.profile.power.drawn_watts
    parts = " + ".join(f"{each.name} {each.watts:,.0f} W ({each.source})" for each in power.parts)
    if power.watts is None:
        missing = f"unknown: {' and '.join(power.unknown)}" if power.unknown else ""
        return _joined(source, parts, missing)
    return _joined(
        f"{power.watts:,.0f} W at full load: {parts}",
        f"{now:,.0f} W now" if now else None,
        source,
        f"battery {charge:.0f} %" if charge is not None else None,
    )


def _supply(review: HostReview) -> str:
    power = review.power
    needed = f"{power.supply_needed_watts:,.0f} W needed with a reserve" if power.supply_needed_watts else ""
    if power.supply_watts is None:
        reason = f" ({power.because})" if power.because else ""
        return f"unknown{reason}; {needed}" if needed else f"unknown{reason}"
    share = power.headroom_share
    reserve = None if share is None else f"reserve {percent(share)}" if share >= 0 else "too little for full load"
    return _joined(f"{power.supply_watts:,.0f} W", reserve)


def _cooling(review: HostReview) -> str:
    cooling = review.cooling
    because = "; ".join(cooling.because)
    return f"risk {cooling.level}: {because}" if cooling.level else f"risk unknown: {because}"


def _limits(profile: HardwareProfile) -> str:
    limits = profile.limits
    place = _joined(
        limits.runtime and f"in {limits.runtime}",
        limits.virtualization and f"virtual machine ({limits.virtualization})",
    )
    return _joined(
        place,
        f"{limits.cpus:g} CPUs" if limits.cpus else None,
        f"{size(limits.memory_bytes)} of memory" if limits.memory_bytes else None,
        f"{limits.open_files:,} open files" if limits.open_files else None,
    )


def _missing(profile: HardwareProfile) -> str:
    count = len(profile.unavailable)
    return f"{plural(count, 'value')}; --verbose lists the reasons" if count else ""
