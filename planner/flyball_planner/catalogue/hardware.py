"""What a training may run on: one device, and the machines that hold several."""

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct, field

from flyball_planner.precision import Format
from flyball_reports.errors import InputError


class DeviceKind(StrEnum):
    """Who computes."""

    GPU = "gpu"
    TPU = "tpu"
    CPU = "cpu"
    UNIFIED = "unified"  # processor and graphics over one memory


class Link(Struct, frozen=True):
    """A way between devices; rates are what one device can send, one way."""

    name: str
    bytes_per_second: float
    latency_seconds: float = 0.0


class Device(Struct, frozen=True):
    """One accelerator or processor. Rates are dense and as the maker prints them; what is not known is missing."""

    name: str
    kind: DeviceKind
    vendor: str
    architecture: str
    memory_bytes: float
    memory_bytes_per_second: float
    flops_per_second: Mapping[Format, float]
    tensor_cores: bool = False
    within_node: Link | None = None  # to its neighbours
    host_link: Link | None = None  # PCIe
    power_watts: float | None = None
    slowdown_celsius: float | None = None
    cores: int = 0  # of a processor
    launch_year: int | None = None
    confidence: str = ""
    source: str = ""
    note: str = ""
    default_format: Format | None = None  # of a named profile such as A100_80GB_fp16
    visible_bytes: float | None = None  # as the driver shows it, after error correction and what it reserves
    memory_type: str = ""
    capability: str = ""  # CUDA's compute capability or AMD's gfx target
    devices_a_node: int = 8  # that usually share `within_node`
    network: str = ""  # of such a node, as in "8 x InfiniBand HDR"; empty: nothing is usual
    aliases: tuple[str, ...] = ()

    def rate(self, wanted: Format) -> float:
        """FLOP/s in a format, or in the wider one that it falls back to; `InputError` where it computes in neither."""
        for each in FALLBACK[wanted]:
            if each in self.flops_per_second:
                return self.flops_per_second[each]
        known = ", ".join(sorted(each.value for each in self.flops_per_second)) or "nothing"
        raise InputError(
            f"{self.name} does not compute in {wanted.value} or anything wider, but in {known}; "
            "choose a narrower precision"
        )

    def computes(self, wanted: Format) -> bool:
        """Whether there is such a rate."""
        return any(each in self.flops_per_second for each in FALLBACK[wanted])

    def native(self, wanted: Format) -> bool:
        """Whether the device computes in this format at all."""
        return wanted in self.flops_per_second


FALLBACK: dict[Format, tuple[Format, ...]] = {
    Format.FP4: (Format.FP4, Format.FP8, Format.BF16, Format.FP16, Format.FP32),
    Format.FP8: (Format.FP8, Format.BF16, Format.FP16, Format.FP32),
    Format.INT8: (Format.INT8, Format.FP16, Format.BF16, Format.FP32),
    Format.BF16: (Format.BF16, Format.FP32),
    Format.FP16: (Format.FP16, Format.BF16, Format.FP32),
    Format.TF32: (Format.TF32, Format.FP32),
    Format.FP32: (Format.FP32,),
}


class Machine(Struct, frozen=True):
    """Nodes of equal devices and the network between them."""

    device: Device
    devices: int = 1
    devices_a_node: int = 8
    between_nodes: Link | None = None  # a device's share of its node's network
    host_memory_bytes: float | None = None
    host_cores: int | None = None
    assumptions: tuple[str, ...] = field(default=())

    @property
    def nodes(self) -> int:
        """How many machines these devices fill."""
        return -(-self.devices // self.devices_a_node)
