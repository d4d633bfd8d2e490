"""The hardware of a training: devices, links, and the machines that hold devices."""

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct, field

from flyball_planner.precision import NumberFormat
from flyball_reports.errors import InputError


class DeviceKind(StrEnum):
    """Kinds of devices."""

    GPU = "gpu"
    TPU = "tpu"
    CPU = "cpu"
    UNIFIED = "unified"  # processor and GPU with shared memory


class DeviceLink(Struct, frozen=True):
    """A connection between devices; rates are per device and direction."""

    name: str
    bytes_per_second: float
    latency_seconds: float = 0.0


class ComputeDevice(Struct, frozen=True):
    """One accelerator or processor. Rates are dense and as printed by the vendor; unknown ones are missing."""

    name: str
    kind: DeviceKind
    vendor: str
    architecture: str
    memory_bytes: float
    memory_bytes_per_second: float
    flops_per_second: Mapping[NumberFormat, float]
    tensor_cores: bool = False
    within_node: DeviceLink | None = None  # to the other devices of its node
    host_link: DeviceLink | None = None  # PCIe
    power_watts: float | None = None
    slowdown_celsius: float | None = None
    cores: int = 0  # for processors
    launch_year: int | None = None
    confidence: str = ""
    source: str = ""
    note: str = ""
    default_format: NumberFormat | None = None  # for named profiles such as A100_80GB_fp16
    visible_bytes: float | None = None  # as reported by the driver, without error correction and reserved memory
    memory_type: str = ""
    capability: str = ""  # CUDA's compute capability or AMD's gfx target
    devices_a_node: int = 8  # usual number of devices that share `within_node`
    network: str = ""  # usual network of such a node, such as "8 x InfiniBand HDR"
    aliases: tuple[str, ...] = ()
    efficiency: float | None = None  # share of the peak rate that products reach, as a user states it; None: estimated
    host_memory_bytes: float | None = None  # of a machine with such devices, as a user states it
    usd_per_hour: float | None = None  # of one device, as a user states it

    def rate(self, wanted: NumberFormat) -> float:
        """Return the FLOP/s in a format or the wider one that it falls back to; raises `InputError` if there is
        neither."""
        for each in FALLBACK[wanted]:
            if each in self.flops_per_second:
                return self.flops_per_second[each]
        known = ", ".join(sorted(each.value for each in self.flops_per_second)) or "nothing"
        raise InputError(
            f"{self.name} does not support {wanted.value} or a wider format, only {known}; choose a narrower precision"
        )

    def computes(self, wanted: NumberFormat) -> bool:
        """Return True if the device supports this format or a wider one."""
        return any(each in self.flops_per_second for each in FALLBACK[wanted])

    def native(self, wanted: NumberFormat) -> bool:
        """Return True if the device supports exactly this format."""
        return wanted in self.flops_per_second

    @property
    def flash_kernels(self) -> bool:
        """Return False for NVIDIA's cards that FlashAttention 2 and torch's flash kernel do not support.

        Both need compute capability 8.0 (Ampere). Where it is unknown, nothing is claimed.
        """
        generation = self.capability.partition(".")[0]
        return self.vendor != "NVIDIA" or not generation.isdigit() or int(generation) >= 8


FALLBACK: dict[NumberFormat, tuple[NumberFormat, ...]] = {
    NumberFormat.FP4: (NumberFormat.FP4, NumberFormat.FP8, NumberFormat.BF16, NumberFormat.FP16, NumberFormat.FP32),
    NumberFormat.FP8: (NumberFormat.FP8, NumberFormat.BF16, NumberFormat.FP16, NumberFormat.FP32),
    NumberFormat.INT8: (NumberFormat.INT8, NumberFormat.FP16, NumberFormat.BF16, NumberFormat.FP32),
    NumberFormat.BF16: (NumberFormat.BF16, NumberFormat.FP32),
    NumberFormat.FP16: (NumberFormat.FP16, NumberFormat.BF16, NumberFormat.FP32),
    NumberFormat.TF32: (NumberFormat.TF32, NumberFormat.FP32),
    NumberFormat.FP32: (NumberFormat.FP32,),
}


class TrainingMachine(Struct, frozen=True):
    """Nodes of equal devices, and the network between them."""

    device: ComputeDevice
    devices: int = 1
    devices_a_node: int = 8
    between_nodes: DeviceLink | None = None  # per device, as its share of the node's network
    host_memory_bytes: float | None = None
    host_cores: int | None = None
    assumptions: tuple[str, ...] = field(default=())

    @property
    def nodes(self) -> int:
        """Return the number of nodes."""
        return -(-self.devices // self.devices_a_node)
