"""The best rates that matrix units reach in practice, as shares of the printed rates."""

from msgspec import Struct

from flyball_planner.catalogue.hardware import ComputeDevice, DeviceKind
from flyball_planner.precision import NumberFormat


class AchievedShares(Struct, frozen=True):
    """The shares of one architecture for 16-bit and 8-bit formats, and its number of multiprocessors."""

    pattern: str  # of the device's name or architecture
    wide: float
    narrow: float
    units: float


ACHIEVED: tuple[AchievedShares, ...] = (
    # Shares: the best of many shapes with torch.matmul (github stas00/ml-engineering, compute/accelerator/README.md,
    # table of maximum achievable matmul FLOPS). Units: the vendors' architecture white papers. The first match wins.
    AchievedShares("GH200", 0.838, 0.776, 132),
    AchievedShares("A100 PCIe", 0.811, 0.811, 108),
    AchievedShares("A100", 0.869, 0.869, 108),
    AchievedShares("GB300", 0.851, 0.844, 148),  # from GB200, which a limit of 1,200 W slows down, at 1,400 W
    AchievedShares("GB200", 0.729, 0.723, 148),
    AchievedShares("B300", 0.786, 0.745, 148),
    AchievedShares("B200", 0.776, 0.763, 148),
    AchievedShares("MI300X", 0.514, 0.514, 304),
    AchievedShares("MI325X", 0.604, 0.604, 304),
    AchievedShares("MI355X", 0.680, 0.680, 256),
    AchievedShares("Gaudi 2", 0.969, 0.955, 24),
    AchievedShares("Gaudi 3", 0.741, 0.769, 64),
    AchievedShares("Hopper", 0.803, 0.709, 132),
    AchievedShares("V100", 0.80, 0.80, 80),  # not in the table; assumed to equal the A100 PCIe
    AchievedShares("RTX 3090", 0.80, 0.80, 82),
    AchievedShares("RTX 4090", 0.80, 0.80, 128),
)
OTHERS = AchievedShares("", 0.78, 0.74, 96)  # the table's medians and a typical number of multiprocessors
PLAIN = 0.93  # share for FP32 without matrix units under cuBLAS (V100: 14.6 of 15.7 TFLOP/s)
PROCESSOR = AchievedShares("", 0.70, 0.70, 1)  # a CPU's vector units with a tuned BLAS; no waves


def achieved(device: ComputeDevice) -> AchievedShares:
    """Return the shares of this device or of the most similar one."""
    if device.kind is DeviceKind.CPU:
        return PROCESSOR
    text = f"{device.name} {device.architecture}"
    return next((each for each in ACHIEVED if each.pattern in text), OTHERS)


def best_rate(device: ComputeDevice, format_: NumberFormat) -> float:
    """Return the FLOP/s of the best product in a format; raises `InputError` if no format of the device is as wide."""
    known = achieved(device)
    rate = device.rate(format_)
    if format_ is NumberFormat.FP32 and device.kind is not DeviceKind.CPU:
        return rate * PLAIN
    narrow = format_ in {NumberFormat.FP8, NumberFormat.INT8, NumberFormat.FP4} and device.native(format_)
    return rate * (known.narrow if narrow else known.wide)
