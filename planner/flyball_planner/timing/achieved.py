"""How near to their printed rate the matrix units of an accelerator come with the best of all products."""

from msgspec import Struct

from flyball_planner.catalogue.hardware import Device, DeviceKind
from flyball_planner.precision import Format


class Achieved(Struct, frozen=True):
    """Of one architecture: shares of the printed rate in 16 and 8 bits, and its multiprocessors."""

    pattern: str  # in the device's name or architecture
    wide: float
    narrow: float
    units: float


ACHIEVED: tuple[Achieved, ...] = (
    # Shares: best of many shapes, torch.matmul (github stas00/ml-engineering, compute/accelerator/README.md, table of
    # maximum achievable matmul FLOPS); units: the makers' architecture white papers. First match counts.
    Achieved("GH200", 0.838, 0.776, 132),
    Achieved("A100 PCIe", 0.811, 0.811, 108),
    Achieved("A100", 0.869, 0.869, 108),
    Achieved("GB300", 0.851, 0.844, 148),  # GB200's, whose clock a limit of 1,200 W holds down, at 1,400 W
    Achieved("GB200", 0.729, 0.723, 148),
    Achieved("B300", 0.786, 0.745, 148),
    Achieved("B200", 0.776, 0.763, 148),
    Achieved("MI300X", 0.514, 0.514, 304),
    Achieved("MI325X", 0.604, 0.604, 304),
    Achieved("MI355X", 0.680, 0.680, 256),
    Achieved("Gaudi 2", 0.969, 0.955, 24),
    Achieved("Gaudi 3", 0.741, 0.769, 64),
    Achieved("Hopper", 0.803, 0.709, 132),
    Achieved("V100", 0.80, 0.80, 80),  # not measured there: taken as the A100 PCIe's
    Achieved("RTX 3090", 0.80, 0.80, 82),
    Achieved("RTX 4090", 0.80, 0.80, 128),
)
OTHERS = Achieved("", 0.78, 0.74, 96)  # the table's medians; an ordinary GPU's number of multiprocessors
PLAIN = 0.93  # of FP32 without matrix units: multiply-adds alone, which cuBLAS keeps busy (V100: 14.6 of 15.7 TFLOP/s)
PROCESSOR = Achieved("", 0.70, 0.70, 1)  # of a CPU's vector units by a tuned BLAS; no waves


def achieved(device: Device) -> Achieved:
    """What is known of this device, or of its like."""
    if device.kind is DeviceKind.CPU:
        return PROCESSOR
    text = f"{device.name} {device.architecture}"
    return next((each for each in ACHIEVED if each.pattern in text), OTHERS)


def best_rate(device: Device, format_: Format) -> float:
    """FLOP/s of the best product in a format; `InputError` where the device computes in none as wide."""
    known = achieved(device)
    rate = device.rate(format_)
    if format_ is Format.FP32 and device.kind is not DeviceKind.CPU:
        return rate * PLAIN
    narrow = format_ in {Format.FP8, Format.INT8, Format.FP4} and device.native(format_)
    return rate * (known.narrow if narrow else known.wide)
