"""The best rates that matrix units reach in practice, as shares of the printed rates."""

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from flyball_planner.catalogue.hardware import ComputeDevice, DeviceKind
from flyball_planner.precision import NumberFormat
from flyball_planner.timing.coefficients import fitted


class AchievedShares(Struct, frozen=True):
    """The shares of one architecture for 16-bit and 8-bit formats, and its number of multiprocessors."""

    pattern: str  # of the device's name or architecture
    wide: float
    narrow: float
    units: float
    deviation: float = 0.0  # standard deviation of the logarithm of the shares, if they are not measured on this card


NEARLY = 0.06  # deviation of cards like those in the table
ACHIEVED: tuple[AchievedShares, ...] = (
    # Shares: the best of many shapes with torch.matmul (github stas00/ml-engineering, compute/accelerator/README.md,
    # table of maximum achievable matmul FLOPS). Units: the vendors' architecture white papers. The first match wins.
    AchievedShares("GH200", 0.838, 0.776, 132),
    AchievedShares("A100 PCIe", 0.811, 0.811, 108),
    AchievedShares("A100", 0.869, 0.869, 108),
    AchievedShares("A800 PCIe", 0.811, 0.811, 108),  # the same chip as the A100
    AchievedShares("A800", 0.869, 0.869, 108),
    AchievedShares("H20 ", 0.803, 0.709, 78, NEARLY),  # the shares of the other Hopper cards; not in the table
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
    # Not in the table; assumed to equal the A100 PCIe. NVIDIA's cards in the table deviate by 6 %, all of them by 17 %.
    AchievedShares("V100", 0.80, 0.80, 80, NEARLY),
    AchievedShares("RTX 3090", 0.80, 0.80, 82, NEARLY),
    AchievedShares("RTX 4090", 0.80, 0.80, 128, NEARLY),
)
OTHERS = AchievedShares("", 0.78, 0.74, 96, 0.17)  # the table's medians and a typical number of multiprocessors
MULTIPROCESSORS: tuple[tuple[str, float], ...] = (
    # Of cards without shares of their own (NVIDIA's architecture white papers and data sheets). The first match wins.
    ("RTX 5090", 170), ("RTX 5080", 84), ("RTX 5070 Ti", 70), ("RTX 5070", 48), ("RTX 5060 Ti", 36), ("RTX 5060", 30),
    ("RTX PRO 6000", 188), ("RTX 6000 Ada", 142), ("RTX 5000 Ada", 100), ("RTX 4000 Ada", 48), ("L40", 142),
    ("L20", 92), ("L4", 58), ("RTX 4080 SUPER", 80), ("RTX 4080", 76), ("RTX 4070 Ti SUPER", 66), ("RTX 4070 Ti", 60),
    ("RTX 4070 SUPER", 56), ("RTX 4070", 46), ("RTX 4060 Ti", 34), ("RTX 4060", 24), ("RTX 3080 Ti", 80),
    ("RTX 3080 12GB", 70), ("RTX 3080 Max-Q", 48), ("RTX 3080", 68), ("RTX 3070 Ti", 48), ("RTX 3070", 46),
    ("RTX 3060 Ti", 38), ("RTX 3060", 28), ("RTX 3050", 20), ("RTX A6000", 84), ("RTX A5500", 80), ("RTX A5000", 64),
    ("RTX A4500", 56), ("RTX A4000", 48), ("RTX A2000", 26), ("A40", 84), ("A30", 56), ("A10", 72), ("A16", 10),
    ("RTX 2080 Ti", 68), ("RTX 2080 SUPER", 48), ("RTX 2080", 46), ("RTX 2070 SUPER", 40), ("RTX 2070", 36),
    ("RTX 2060 SUPER", 34), ("RTX 2060", 30), ("TITAN RTX", 72), ("Quadro RTX 8000", 72), ("Quadro RTX 6000", 72),
    ("Quadro RTX 5000", 48), ("Quadro RTX 4000", 36), ("GTX 1660 Ti", 24), ("GTX 1660", 22), ("GTX 1650", 14),
    ("T4", 40), ("TITAN V", 80), ("TITAN Xp", 30), ("GTX 1080 Ti", 28), ("GTX 1080", 20), ("GTX 1070", 15),
    ("GTX 1060", 10), ("P100", 56), ("P40", 30),
)  # fmt: skip
PLAIN = 0.93  # share for FP32 without matrix units under cuBLAS (V100: 14.6 of 15.7 TFLOP/s)
PROCESSOR = AchievedShares("", 0.70, 0.70, 1, 0.17)  # a CPU's vector units with a tuned BLAS; no waves


def achieved(device: ComputeDevice) -> AchievedShares:
    """Return the shares of this device or of the most similar one."""
    if device.kind is DeviceKind.CPU:
        return PROCESSOR
    text = f"{device.name} {device.architecture}"
    found = next((each for each in ACHIEVED if each.pattern in text), None)
    if found is not None:
        return found
    units = next((number for pattern, number in MULTIPROCESSORS if pattern in device.name), OTHERS.units)
    return replace(OTHERS, units=units)


def best_rate(device: ComputeDevice, format_: NumberFormat) -> float:
    """Return the FLOP/s of the best product in a format; raises `InputError` if no format of the device is as wide."""
    known = achieved(device)
    rate = device.rate(format_)
    if device.efficiency is not None:  # as a user states it, of large products in a training
        return rate * device.efficiency / usual_share()
    if format_ is NumberFormat.FP32 and device.kind is not DeviceKind.CPU:
        return rate * PLAIN
    narrow = format_ in {NumberFormat.FP8, NumberFormat.INT8, NumberFormat.FP4} and device.native(format_)
    return rate * (known.narrow if narrow else known.wide)


def usual_share() -> float:
    """Return the share of the best product's rate that large products reach in a training."""
    known = fitted()
    return float(np.exp(known.middle[known.names.index("matmul")]))


def product_share(device: ComputeDevice, format_: NumberFormat) -> float:
    """Return the share of the peak rate that large products reach in a training: `hardware.efficiency` if not given."""
    return best_rate(device, format_) * usual_share() / device.rate(format_)
