"""Settings for each family of devices: formats, attention, compilation and switches, with reasons."""

import re

from msgspec import Struct
from msgspec.structs import replace

from flyball_planner.catalogue.hardware import ComputeDevice, DeviceKind
from flyball_planner.precision import PRECISIONS, NumberFormat


class Tuning(Struct, frozen=True):
    """The settings that suit a family of devices."""

    family: str
    precision: str
    attention: str  # name of an implementation
    compiled: bool
    settings: tuple[tuple[str, str], ...]  # names and values: environment or torch settings
    notes: tuple[str, ...]


_NVIDIA = (("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True"),)
_TF32 = (("torch.set_float32_matmul_precision", "high"),)
_NCCL = (("backend", "nccl"),)

HOPPER = Tuning(
    "data centre, Hopper and later", "bf16", "FlashAttention-3 or torch's scaled_dot_product_attention", True,
    (*_NVIDIA, *_TF32, *_NCCL),
    ("use fp8 with Transformer Engine only for layers at least 4,096 wide; smaller ones gain nothing",),
)  # fmt: skip
AMPERE_CENTRE = Tuning(
    "data centre, Ampere and Ada", "bf16", "FlashAttention-2 or torch's scaled_dot_product_attention", True,
    (*_NVIDIA, *_TF32, *_NCCL), ("bf16 needs no loss scaling",),
)  # fmt: skip
TESLA = Tuning(
    "Tesla and Quadro before Ampere", "fp16-autocast", "xFormers or torch's memory-efficient kernel", False,
    (*_NVIDIA, *_NCCL),
    ("no bf16: use fp16 with a loss scaler", "FlashAttention-2 needs Ampere; TF32 does not exist here"),
)  # fmt: skip
RTX_50 = Tuning(
    "RTX 50", "bf16-autocast", "torch's scaled_dot_product_attention", True, (*_NVIDIA, *_TF32),
    ("needs CUDA 12.8 and a torch built for it", "no NVLink: gradients are exchanged over PCIe"),
)  # fmt: skip
RTX_40 = Tuning(
    "RTX 40", "bf16-autocast", "FlashAttention-2 or torch's scaled_dot_product_attention", True, (*_NVIDIA, *_TF32),
    ("no NVLink, no peer-to-peer: if several cards hang, set NCCL_P2P_DISABLE=1",
     "with fp32 accumulation, tensor cores reach half of their nominal rate"),
)  # fmt: skip
RTX_30 = Tuning(
    "RTX 30", "bf16-autocast", "FlashAttention-2 or torch's scaled_dot_product_attention", True, (*_NVIDIA, *_TF32),
    ("with fp32 accumulation, tensor cores reach half of their nominal rate",
     "short power spikes: the power supply needs a reserve"),
)  # fmt: skip
RTX_20 = Tuning(
    "RTX 20", "fp16-autocast", "torch's memory-efficient kernel", True, _NVIDIA,
    ("no bf16: use fp16 with a loss scaler", "FlashAttention-2 needs Ampere"),
)  # fmt: skip
GTX = Tuning(
    "GTX", "fp32", "torch's memory-efficient kernel", False, _NVIDIA,
    ("no tensor cores: 16-bit formats save memory, not time", "torch.compile needs capability 7.0"),
)  # fmt: skip
AMD = Tuning(
    "AMD ROCm", "bf16", "Composable Kernel's FlashAttention-2 or torch's scaled_dot_product_attention", True,
    (("PYTORCH_HIP_ALLOC_CONF", "expandable_segments:True"), ("TORCH_BLAS_PREFER_HIPBLASLT", "1"), ("backend", "nccl")),
    ("RCCL uses the name nccl", "cards outside ROCm's list need HSA_OVERRIDE_GFX_VERSION"),
)  # fmt: skip
APPLE = Tuning(
    "Apple Silicon", "fp32", "torch's scaled_dot_product_attention on mps", False,
    (("PYTORCH_ENABLE_MPS_FALLBACK", "1"),),
    ("memory is shared with the system: leave it a quarter",
     "autocast on mps is new: compare its loss with that of fp32"),
)  # fmt: skip
TPU = Tuning(
    "TPU", "bf16", "Splash or Pallas flash attention", True, (("backend", "xla"),),
    ("shapes must not change between steps: use padding, or each new shape is compiled again",),
)  # fmt: skip
INTEL = Tuning(
    "Intel GPU", "bf16-autocast", "torch's scaled_dot_product_attention on xpu", True, (("backend", "xccl"),), (),
)  # fmt: skip
PROCESSOR = Tuning("processor", "fp32", "torch's scaled_dot_product_attention", True, (("backend", "gloo"),), ())
OTHER = Tuning("other", "bf16", "as offered by its software", False, (), ("no settings are known for this family",))

_BY_CARD = ((r"\bRTX 50\d\d", RTX_50), (r"\bRTX 40\d\d", RTX_40), (r"\bRTX 30\d\d", RTX_30), (r"\bRTX 20\d\d", RTX_20),
            (r"\bGTX\b", GTX))  # fmt: skip
_BY_KIND = {DeviceKind.CPU: PROCESSOR, DeviceKind.TPU: TPU, DeviceKind.UNIFIED: APPLE}
_BY_VENDOR = {"amd": AMD, "intel": INTEL, "apple": APPLE}


def tuning(device: ComputeDevice) -> Tuning:
    """Return the settings of a device's family in a format that the device supports."""
    found = _family(device)
    wanted = PRECISIONS[found.precision].compute
    if device.native(wanted) or wanted is NumberFormat.FP32:
        return found
    return replace(found, precision="fp16-autocast" if device.native(NumberFormat.FP16) else "fp32")


def _family(device: ComputeDevice) -> Tuning:
    if device.kind in _BY_KIND:
        return _BY_KIND[device.kind]
    vendor = next((each for name, each in _BY_VENDOR.items() if name in device.vendor.casefold()), None)
    if vendor:
        return vendor
    if "nvidia" not in device.vendor.casefold():
        return OTHER
    card = next((each for pattern, each in _BY_CARD if re.search(pattern, device.name)), None)
    return card or _centre(device)


def _centre(device: ComputeDevice) -> Tuning:
    if device.native(NumberFormat.FP8) and re.search("Hopper|Blackwell", device.architecture):
        return HOPPER
    if device.native(NumberFormat.BF16):
        return AMPERE_CENTRE
    return TESLA if device.tensor_cores or device.native(NumberFormat.FP16) else GTX
