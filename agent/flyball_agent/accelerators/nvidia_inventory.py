"""What an NVIDIA device is."""

import ctypes
from collections.abc import Callable
from typing import TypeVar

from flyball_agent.accelerators.architectures import architecture
from flyball_agent.accelerators.nvidia_device import Device
from flyball_agent.accelerators.nvml import Nvml, NvmlError
from flyball_proto.v1 import telemetry_pb2 as pb

T = TypeVar("T")
_NO_NODE = -1


def describe_device(nvml: Nvml, device: Device) -> pb.Gpu:
    """The device in the words of the inventory; what it cannot tell stays empty."""
    handle = device.handle
    capability = _capability(nvml, handle)
    generation = architecture(capability) if capability else None
    return pb.Gpu(
        uuid=device.uuid,
        index=device.index,
        vendor="nvidia",
        model=_or(lambda: nvml.text("nvmlDeviceGetName", handle), ""),
        memory_bytes=_or(lambda: _memory_bytes(nvml, handle), 0),
        driver_version=_or(lambda: nvml.text("nvmlSystemGetDriverVersion"), ""),
        compute_capability="{}.{}".format(*capability) if capability else "",
        architecture=generation.name if generation else "",
        precisions=generation.precisions if generation else (),
        pci_address=_or(lambda: _pci_address(nvml, handle), ""),
        numa_node=_or(lambda: _signed(nvml.number("nvmlDeviceGetNumaNodeId", handle)), _NO_NODE),
        power_limit_watts=_or(lambda: nvml.number("nvmlDeviceGetEnforcedPowerLimit", handle), 0) / 1000,
        slowdown_temperature_celsius=_or(lambda: nvml.number("nvmlDeviceGetTemperatureThreshold", handle, 1), 0),
        shutdown_temperature_celsius=_or(lambda: nvml.number("nvmlDeviceGetTemperatureThreshold", handle, 0), 0),
        pcie_generation_max=_or(lambda: nvml.number("nvmlDeviceGetMaxPcieLinkGeneration", handle), 0),
        pcie_width_max=_or(lambda: nvml.number("nvmlDeviceGetMaxPcieLinkWidth", handle), 0),
        nvlinks=_or(lambda: _field(nvml, handle, 91), 0),
        mig_enabled=device.mig_enabled,
        mig_instances=[
            pb.MigInstance(uuid=piece.uuid, profile=piece.profile, memory_bytes=piece.memory()[1] or 0)
            for piece in device.slices
        ],
    )


def _or(ask: Callable[[], T], otherwise: T) -> T:
    try:
        return ask()
    except NvmlError:
        return otherwise


def _capability(nvml: Nvml, handle: ctypes.c_void_p | None) -> tuple[int, int] | None:
    major, minor = ctypes.c_int(), ctypes.c_int()
    name = "nvmlDeviceGetCudaComputeCapability"
    code = nvml.call(name)(handle, ctypes.byref(major), ctypes.byref(minor))
    return None if code else (major.value, minor.value)


def _memory_bytes(nvml: Nvml, handle: ctypes.c_void_p | None) -> int:
    info = nvml.structures.c_nvmlMemory_v2_t()
    info.version = nvml.structures.nvmlMemory_v2
    nvml.check("nvmlDeviceGetMemoryInfo_v2", handle, ctypes.byref(info))
    return int(info.total)


def _pci_address(nvml: Nvml, handle: ctypes.c_void_p | None) -> str:
    """As sysfs writes it: four digits of domain, lower case."""
    info = nvml.structures.nvmlPciInfo_t()
    nvml.check("nvmlDeviceGetPciInfo_v3", handle, ctypes.byref(info))
    domain, _, rest = str(info.busId).lower().partition(":")
    return f"{domain[-4:]}:{rest}"


def _field(nvml: Nvml, handle: ctypes.c_void_p | None, field: int) -> int:
    array = (nvml.structures.c_nvmlFieldValue_t * 1)()
    array[0].fieldId = field
    nvml.check("nvmlDeviceGetFieldValues", handle, 1, array)
    if array[0].nvmlReturn:
        raise NvmlError("nvmlDeviceGetFieldValues", array[0].nvmlReturn)
    return int(array[0].value.uiVal)


def _signed(number: int) -> int:
    return number if number < 1 << 31 else _NO_NODE
