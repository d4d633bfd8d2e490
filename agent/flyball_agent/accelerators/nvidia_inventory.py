"""The inventory entry of an NVIDIA device."""

import ctypes
from collections.abc import Callable
from typing import TypeVar

from flyball_agent.accelerators.architectures import architecture
from flyball_agent.accelerators.nvidia_device import NvidiaDevice
from flyball_agent.accelerators.nvidia_fabric import read_fabric
from flyball_agent.accelerators.nvml import Nvml, NvmlError
from flyball_proto.v1 import telemetry_pb2 as pb

T = TypeVar("T")
_NO_NODE = -1


def describe_device(nvml: Nvml, device: NvidiaDevice) -> pb.Gpu:
    """Return the inventory entry of a device. What the driver does not provide stays empty."""
    handle = device.handle
    capability = _capability(nvml, handle)
    generation = architecture(capability) if capability else None
    _, fabric = read_fabric(nvml, handle)
    return pb.Gpu(
        uuid=device.uuid,
        index=device.index,
        vendor="nvidia",
        model=_value_or(lambda: nvml.text("nvmlDeviceGetName", handle), ""),
        memory_bytes=_value_or(lambda: _memory_bytes(nvml, handle), 0),
        driver_version=_value_or(lambda: nvml.text("nvmlSystemGetDriverVersion"), ""),
        compute_capability="{}.{}".format(*capability) if capability else "",
        architecture=generation.name if generation else "",
        precisions=generation.precisions if generation else (),
        pci_address=_value_or(lambda: _pci_address(nvml, handle), ""),
        numa_node=_value_or(lambda: _signed(nvml.number("nvmlDeviceGetNumaNodeId", handle)), _NO_NODE),
        power_limit_watts=_value_or(lambda: nvml.number("nvmlDeviceGetEnforcedPowerLimit", handle), 0) / 1000,
        slowdown_temperature_celsius=_value_or(lambda: nvml.number("nvmlDeviceGetTemperatureThreshold", handle, 1), 0),
        shutdown_temperature_celsius=_value_or(lambda: nvml.number("nvmlDeviceGetTemperatureThreshold", handle, 0), 0),
        pcie_generation_max=_value_or(lambda: nvml.number("nvmlDeviceGetMaxPcieLinkGeneration", handle), 0),
        pcie_width_max=_value_or(lambda: nvml.number("nvmlDeviceGetMaxPcieLinkWidth", handle), 0),
        nvlinks=_value_or(lambda: _field(nvml, handle, 91), 0),
        serial=_value_or(lambda: nvml.text("nvmlDeviceGetSerial", handle), ""),
        board_part_number=_value_or(lambda: nvml.text("nvmlDeviceGetBoardPartNumber", handle), ""),
        vbios_version=_value_or(lambda: nvml.text("nvmlDeviceGetVbiosVersion", handle), ""),
        inforom_version=_value_or(lambda: nvml.text("nvmlDeviceGetInforomImageVersion", handle), ""),
        fabric_cluster=fabric.cluster if fabric else "",
        fabric_clique=fabric.clique if fabric else 0,
        c2c_links=_value_or(lambda: _field(nvml, handle, 170), 0),
        mig_enabled=device.mig_enabled,
        mig_instances=[
            pb.MigInstance(uuid=instance.uuid, profile=instance.profile, memory_bytes=int(instance.values[1] or 0))
            for instance in device.slices
        ],
    )


def _value_or(read: Callable[[], T], default: T) -> T:
    try:
        return read()
    except NvmlError:
        return default


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
    """Return the address as in sysfs: lower case, with a domain of four digits."""
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
