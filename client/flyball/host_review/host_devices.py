"""The devices of a host as the planner sees them: its GPUs by their catalogue names, or its processor."""

from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from flyball.host.hardware_parts import GpuSpeed, HostGpu, HostProcessor
from flyball.host.hardware_profile import HardwareProfile
from flyball_planner.catalogue.devices import find_device
from flyball_planner.catalogue.hardware import ComputeDevice, DeviceKind, TrainingMachine
from flyball_planner.catalogue.machines import machine
from flyball_planner.precision import NumberFormat
from flyball_planner.timing.best_rates import PROCESSOR, achieved
from flyball_reports.errors import InputError

MEMORY_SHARE = 0.8
"""The share of a memory's nominal bandwidth that copies reach. STREAM on servers reports 75 to 85 %."""

SIXTEEN_BITS = (NumberFormat.BF16, NumberFormat.FP16)

_CYCLES = (("AVX-512", 64.0), ("AVX512", 64.0), ("AVX2", 32.0), ("SVE", 32.0), ("AVX", 16.0), ("NEON", 16.0))
"""fp32 operations per cycle of one core: the catalogue's figures for Skylake, Milan, Neoverse and Sandy Bridge."""

_AMD_CYCLES = 32.0  # Zen 4 computes AVX-512 in two halves; the catalogue's figure for Genoa
_AMX_CYCLES = 1024.0  # operations in bf16; the catalogue's figure for Sapphire Rapids
_PLAIN_CYCLES = 8.0  # SSE: four lanes, an addition and a multiplication
_USUAL_MHZ = 2000.0
"""For a processor that states no clock, as those of ARM and POWER do not. Servers in the catalogue have 1.9 to 3 GHz.
Without this assumption, a server with many slow cores would be scored by its cores and its memory alone."""

_APPLE_MHZ, _APPLE_CYCLES = 3200.0, 32.0
"""The performance cores of M1 (3.2 GHz); macOS states no clock. Each has four units of 128 bits for fused products."""

_CHANNEL_BYTES = 8  # a channel is 64 bits wide (JEDEC DDR3 to DDR5)
_USUAL_BANDWIDTH = 42.7e9  # two channels of DDR4-2666, a laptop's
_OTHER_MEMORY = 0.9  # a card with less than this share of the catalogue's memory is another variant


class HostDevices(Struct, frozen=True):
    """The devices that configurations are made for."""

    device: ComputeDevice
    count: int
    known: bool  # the catalogue has this device as it is
    assumptions: tuple[str, ...] = ()


class NoDevice(InputError):
    """A host for which nothing can be planned, with the reason."""


def catalogue_device(name: str | None) -> ComputeDevice | None:
    """Return the catalogue's device of this name, if there is one."""
    if not name:
        return None
    try:
        return find_device(name)
    except InputError:
        return None


def largest_group(gpus: Sequence[HostGpu]) -> tuple[HostGpu, ...]:
    """Return the GPUs of the model that computes most together; different models never train one model well."""
    groups: dict[str, list[HostGpu]] = {}
    for gpu in gpus:
        groups.setdefault(gpu.catalogue_name or gpu.model or "", []).append(gpu)
    if not groups:
        return ()
    best = max(groups.values(), key=_group_rate)
    return tuple(best)


def _group_rate(group: list[HostGpu]) -> tuple[float, float]:
    device = catalogue_device(group[0].catalogue_name)
    return (sixteen_bit_rate(device) or 0.0) * len(group) if device else 0.0, sum(
        each.memory_bytes or 0 for each in group
    )


def sixteen_bit_rate(device: ComputeDevice) -> float | None:
    """Return the printed rate in bf16 or fp16, whichever is faster, else in fp32."""
    rates = [device.flops_per_second[each] for each in SIXTEEN_BITS if each in device.flops_per_second]
    return max(rates, default=device.flops_per_second.get(NumberFormat.FP32))


def devices_of(profile: HardwareProfile) -> HostDevices:
    """Return the devices to train on; raises `NoDevice` with the reason if their speed is unknown."""
    group = largest_group(profile.gpus)
    if not group:
        return _processor_devices(profile)
    first, speeds = group[0], {each.index: each for each in profile.benchmarks.gpus} if profile.benchmarks else {}
    device = catalogue_device(first.catalogue_name)
    if device is not None:
        fitted, assumptions = _as_installed(device, group)
        return HostDevices(fitted, len(group), fitted == device, assumptions)
    measured = _measured_device(first, speeds)
    if measured is None:
        raise NoDevice(
            f"the catalogue has no {first.model or 'GPU of this model'}, and its speed was not measured; run "
            "`flyball analyze --benchmark` with PyTorch installed, or name the device in a file for --hardware-file"
        )
    return HostDevices(measured, len(group), known=False, assumptions=(f"{measured.name}: rates as measured here",))


def _as_installed(device: ComputeDevice, group: Sequence[HostGpu]) -> tuple[ComputeDevice, tuple[str, ...]]:
    """Return the catalogue's device with the memory and the power limit of the installed cards."""
    notes = []
    sizes = [each.memory_bytes for each in group if each.memory_bytes]
    if sizes and min(sizes) < _OTHER_MEMORY * (device.visible_bytes or device.memory_bytes):
        device = replace(device, memory_bytes=float(min(sizes)), visible_bytes=float(min(sizes)))
        notes.append("memory as reported by the driver, less than the catalogue's")
    limits = [each.power_limit_watts for each in group if each.power_limit_watts]
    if limits and device.power_watts and min(limits) < 0.99 * device.power_watts:
        device = replace(device, power_watts=min(limits))
        notes.append(f"power limit of {min(limits):.0f} W, below the nominal one; times assume the nominal one")
    return device, tuple(notes)


def _measured_device(gpu: HostGpu, speeds: Mapping[int, GpuSpeed]) -> ComputeDevice | None:
    speed = speeds.get(gpu.index)
    if speed is None or not gpu.memory_bytes or not speed.device_memory_gb_per_second:
        return None
    rates = {
        NumberFormat(name): tflops * 1e12 for name, tflops in speed.matmul_tflops.items() if name in set(NumberFormat)
    }
    if not rates:
        return None
    device = ComputeDevice(
        name=gpu.model or "GPU",
        kind=DeviceKind.UNIFIED if gpu.unified_memory else DeviceKind.GPU,
        vendor=gpu.vendor or "",
        architecture=gpu.architecture or "",
        memory_bytes=float(gpu.memory_bytes),
        memory_bytes_per_second=speed.device_memory_gb_per_second * 1e9 / MEMORY_SHARE,
        flops_per_second=rates,
        tensor_cores=bool(rates.keys() & set(SIXTEEN_BITS)),
        power_watts=gpu.power_limit_watts or gpu.tdp_watts,
        slowdown_celsius=gpu.slowdown_celsius,
        capability=gpu.compute_capability or "",
    )
    share = achieved(device).wide  # the catalogue's rates are printed ones, which products never reach
    return replace(device, flops_per_second={name: rate / share for name, rate in rates.items()})


def _processor_devices(profile: HardwareProfile) -> HostDevices:
    cores, memory, rate = profile.cpu_cores, profile.memory.usable_bytes, processor_rate(profile)
    if cores is None or memory is None or rate is None:
        missing = [name for name, value in (("cores", cores), ("memory", memory)) if value is None]
        raise NoDevice(f"there is no GPU, and the processor's {' and '.join(missing)} could not be determined")
    listed = catalogue_device(profile.processor.catalogue_name)
    bandwidth = memory_bandwidth(profile)
    assumed = [] if bandwidth else ["memory bandwidth of a laptop's two channels; --benchmark measures it"]
    if clock_is_assumed(profile):
        assumed.append(f"a clock of {_usual_mhz(profile.processor) / 1000:g} GHz; --benchmark measures the processor")
    narrow = sixteen_bit_processor_rate(profile)
    rates = {NumberFormat.FP32: rate} | ({NumberFormat.BF16: narrow} if narrow else {})
    device = ComputeDevice(
        name=listed.name if listed else profile.processor.model or "processor",
        kind=DeviceKind.CPU,
        vendor=profile.processor.vendor or "",
        architecture=listed.architecture if listed else "",
        memory_bytes=float(memory),
        memory_bytes_per_second=bandwidth or _USUAL_BANDWIDTH,
        flops_per_second=rates,
        power_watts=profile.processor.tdp_watts,
        cores=cores,
        devices_a_node=1,
    )
    return HostDevices(device, 1, known=False, assumptions=tuple(assumed))


def processor_rate(profile: HardwareProfile) -> float | None:
    """Return the printed fp32 rate of all usable cores: as measured, by the catalogue, or by clock and instructions."""
    measured = profile.benchmarks.processor if profile.benchmarks else None
    if measured is not None:
        return measured.matmul_gflops * 1e9 / PROCESSOR.wide
    return nominal_rate(profile)


def nominal_rate(profile: HardwareProfile) -> float | None:
    """Return the fp32 rate of all usable cores without a measurement."""
    processor, cores = profile.processor, profile.cpu_cores
    listed = catalogue_device(processor.catalogue_name)
    if cores is None:
        return None
    if listed and listed.cores:
        return listed.flops_per_second[NumberFormat.FP32] * cores / listed.cores
    return cores * (processor.base_mhz or processor.max_mhz or _usual_mhz(processor)) * 1e6 * _cycles(processor)


def _usual_mhz(processor: HostProcessor) -> float:
    return _APPLE_MHZ if _is_apple(processor) else _USUAL_MHZ


def _is_apple(processor: HostProcessor) -> bool:
    return (processor.model or "").startswith("Apple")


def clock_is_assumed(profile: HardwareProfile) -> bool:
    """Return True if the processor's rate follows from an assumed clock."""
    processor = profile.processor
    if profile.benchmarks is not None and profile.benchmarks.processor is not None:
        return False
    return not (processor.base_mhz or processor.max_mhz or catalogue_device(processor.catalogue_name))


def sixteen_bit_processor_rate(profile: HardwareProfile) -> float | None:
    """Return the bf16 rate of all usable cores: by the catalogue, or by AMX; None without such units.

    If fp32 was measured, bf16 is assumed to reach the same share of its printed rate: a virtual machine's.
    """
    printed, measured, nominal = _printed_narrow_rate(profile), processor_rate(profile), nominal_rate(profile)
    return printed if printed is None or not measured or not nominal else printed * min(1.0, measured / nominal)


def _printed_narrow_rate(profile: HardwareProfile) -> float | None:
    processor, cores = profile.processor, profile.cpu_cores
    listed = catalogue_device(processor.catalogue_name)
    if cores is None:
        return None
    if listed and listed.cores:
        rate = listed.flops_per_second.get(NumberFormat.BF16)
        return None if rate is None else rate * cores / listed.cores
    clock = processor.base_mhz or processor.max_mhz
    has_units = "amx_bf16" in processor.features
    return cores * clock * 1e6 * _AMX_CYCLES if has_units and clock is not None else None


def _cycles(processor: HostProcessor) -> float:
    if _is_apple(processor):
        return _APPLE_CYCLES
    families = {each.upper() for each in processor.simd}
    found = next((cycles for family, cycles in _CYCLES if family in families), _PLAIN_CYCLES)
    return min(found, _AMD_CYCLES) if "AMD" in (processor.vendor or "") else found


def memory_bandwidth(profile: HardwareProfile) -> float | None:
    """Return the nominal bandwidth of the host's memory: from a measurement, the catalogue, or its modules."""
    measured = profile.benchmarks.memory if profile.benchmarks else None
    if measured is not None:
        return max(measured.triad_gb_per_second, measured.copy_gb_per_second) * 1e9 / MEMORY_SHARE
    listed = catalogue_device(profile.processor.catalogue_name)
    if listed:
        return listed.memory_bytes_per_second * (profile.processor.sockets or 1)
    memory = profile.memory
    if memory.modules and memory.mega_transfers_per_second:
        channels = min(memory.modules, 2) if memory.modules <= 4 else memory.modules  # two modules share a channel
        return channels * memory.mega_transfers_per_second * 1e6 * _CHANNEL_BYTES
    return None


def models(gpus: Sequence[HostGpu]) -> str:
    """Return the models with their numbers: 8 × H100 SXM5."""
    counts = Counter(each.catalogue_name or each.model or "GPU of an unknown model" for each in gpus)
    return ", ".join(f"{number} × {name}" if number > 1 else name for name, number in counts.items())


def machine_of(found: HostDevices) -> TrainingMachine:
    """Return the machine that the planner plans for: one node with all of these devices."""
    whole = machine(found.device, found.count, max(found.count, 1))
    return replace(whole, assumptions=(*whole.assumptions, *found.assumptions))


def hardware_text(device: ComputeDevice) -> str:
    """Return a device as a file for the key `hardware_file` of a specification, or for `--hardware-file`."""
    rates = {f"{each.value}_{'tops' if each is NumberFormat.INT8 else 'tflops'}": rate / 1e12
             for each, rate in device.flops_per_second.items()}  # fmt: skip
    entry: dict[str, object] = {
        "name": f'"{device.name}"',
        "kind": device.kind.value,
        "memory_gib": f"{device.memory_bytes / 2**30:.6g}",
        "memory_gb_per_second": f"{device.memory_bytes_per_second / 1e9:.6g}",
        "tensor_cores": "yes" if device.tensor_cores else "no",
        **{name: f"{rate:.6g}" for name, rate in rates.items()},
    }
    entry |= {"power_watts": f"{device.power_watts:.6g}"} if device.power_watts else {}
    entry |= {"cores": device.cores} if device.cores else {}
    entry |= {"capability": f'"{device.capability}"'} if device.capability else {}
    lines = [
        f"{'  - ' if number == 0 else '    '}{name}: {value}" for number, (name, value) in enumerate(entry.items())
    ]
    return "# This host's device. The configurations beside this file name it.\ndevices:\n" + "\n".join(lines) + "\n"
