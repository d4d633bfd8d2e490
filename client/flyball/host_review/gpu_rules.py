"""Rules about GPUs: links, limits, errors, and what else uses them."""

import re
from collections.abc import Iterator

from flyball.host.hardware_parts import HostGpu
from flyball.host_review.cooling import CLOSE, NEAR, slowdown_of
from flyball.host_review.host_devices import catalogue_device, largest_group, models
from flyball.host_review.host_finding import HostFinding, HostSituation, suggestion, warning
from flyball_reports.figures import percent, plural, size

USED_SHARE = 0.05  # of a GPU's memory, by other programs
_HOST_LINK = re.compile(r"PCIe (\d)\.\d x(\d+)")
HEAT_REASONS = frozenset({"sw_thermal", "hw_thermal", "thermal"})
POWER_REASONS = frozenset({"hw_power_brake", "hw_slowdown"})


def narrow_links(situation: HostSituation) -> Iterator[HostFinding]:
    """Find cards with fewer lanes, or an older generation of PCIe, than they support."""
    for gpu in situation.profile.gpus:
        share, because = _link_share(gpu)
        if share is None or share >= 1:
            continue
        yield suggestion(
            "pcie-link", 2, f"GPU {gpu.index} has {percent(share)} of the PCIe bandwidth that it supports",
            because,
            "Move it to a slot with all lanes, and set the slot to its highest generation in the firmware",
            effect=f"copies between memory and GPU up to {1 / share:.0f} times as fast; "
            "gradients too, if the GPUs have no other link",
        )  # fmt: skip


def _link_share(gpu: HostGpu) -> tuple[float | None, str]:
    """Return the share of the card's own bandwidth. The generation in use falls while idle, so its highest counts."""
    device = catalogue_device(gpu.catalogue_name)
    own = _HOST_LINK.fullmatch(device.host_link.name) if device and device.host_link else None
    lanes = gpu.pcie_width_card or (int(own[2]) if own else None)
    used = min((each for each in (gpu.pcie_width, gpu.pcie_width_max) if each), default=None)
    if lanes is None or used is None:
        return None, ""
    generation, newest = gpu.pcie_generation_max, int(own[1]) if own else None
    share, words = used / lanes, [f"{used} of {lanes} lanes"] if used < lanes else []
    if generation and newest and generation < newest:
        share *= 2.0 ** (generation - newest)
        words.append(f"PCIe {generation} instead of {newest}")
    return share, " and ".join(words)


def no_persistence(situation: HostSituation) -> Iterator[HostFinding]:
    """Find a driver that is initialised again for each process."""
    profile = situation.profile
    off = [each.index for each in profile.gpus if each.persistence_mode is False]
    if off and not profile.limits.runtime:
        yield suggestion(
            "persistence", 1, "Persistence mode of the GPU driver is off",
            "the driver initialises a GPU again when the first process opens it: 1 to 3 s for each GPU, and settings "
            "such as power limits are lost (docs.nvidia.com, driver persistence)",
            "Run the persistence daemon",
            effect=f"programs start up to {3 * len(off)} s sooner",
            command="systemctl enable --now nvidia-persistenced",
        )  # fmt: skip


def lowered_power(situation: HostSituation) -> Iterator[HostFinding]:
    """Find a power limit below the card's default."""
    for gpu in situation.profile.gpus:
        limit, default = gpu.power_limit_watts, gpu.power_limit_default_watts or gpu.tdp_watts
        if limit and default and limit < 0.98 * default:
            yield suggestion(
                "power-limit", 1, f"GPU {gpu.index} is limited to {limit:.0f} W of {default:.0f} W",
                "someone has set this limit; under load the card lowers its clocks to hold it",
                "Keep it if heat, noise or the supply need it; otherwise set the default again",
                effect="higher clocks under load",
                command=f"nvidia-smi -i {gpu.index} -pl {default:.0f}" if gpu.vendor == "nvidia" else "",
            )  # fmt: skip


def hot_gpus(situation: HostSituation) -> Iterator[HostFinding]:
    """Find GPUs near their slowdown temperature, or already slowed down."""
    for gpu in situation.profile.gpus:
        slowed = sorted(HEAT_REASONS & set(gpu.throttle_reasons))
        room = slowdown_of(gpu) - gpu.temperature_celsius if gpu.temperature_celsius is not None else None
        if slowed or (room is not None and room < NEAR):
            degrees = f"{gpu.temperature_celsius:.0f} °C" if gpu.temperature_celsius is not None else "too hot"
            yield warning(
                "gpu-hot", 3 if slowed or (room or 0.0) < CLOSE else 2, f"GPU {gpu.index} is at {degrees}",
                f"its clocks {'are lowered because of heat' if slowed else 'begin to fall'} "
                f"at {slowdown_of(gpu):.0f} °C",
                "Check air flow, filters and fans before a long training",
            )  # fmt: skip
        if POWER_REASONS & set(gpu.throttle_reasons):
            yield warning(
                "power-brake", 3, f"GPU {gpu.index} is slowed down by the hardware",
                f"reasons: {', '.join(sorted(gpu.throttle_reasons))}; the supply or its cables may not deliver enough",
                "Check the power cables and the supply",
            )  # fmt: skip


def faulty_memory(situation: HostSituation) -> Iterator[HostFinding]:
    """Find memory errors of GPUs."""
    for gpu in situation.profile.gpus:
        if gpu.uncorrected_errors:
            yield warning(
                "gpu-memory-errors", 3,
                f"GPU {gpu.index} had {plural(gpu.uncorrected_errors, 'uncorrected memory error')}",
                "each one ends the process that uses the memory, or has changed its numbers",
                "Run `dcgmi diag -r 3`; replace the card if it fails",
            )  # fmt: skip
        if gpu.retired_pages:
            yield warning(
                "retired-pages", 1,
                f"GPU {gpu.index} has replaced {plural(gpu.retired_pages, 'faulty part')} of its memory",
                "retired pages or remapped rows; the replaced parts are not used any more",
                "Watch whether the number grows",
            )  # fmt: skip
        if gpu.pages_pending:
            yield warning(
                "pages-pending", 2, f"GPU {gpu.index} has faulty memory that is not replaced yet",
                "the driver replaces it when the GPU is reset; until then, a process that uses it may fail",
                "Reset the GPU while no process uses it, or restart the machine",
                command=f"nvidia-smi -i {gpu.index} --gpu-reset" if gpu.vendor == "nvidia" else "",
            )  # fmt: skip


def used_memory(situation: HostSituation) -> Iterator[HostFinding]:
    """Find GPUs that other programs use."""
    for gpu in situation.profile.gpus:
        if gpu.unified_memory or not gpu.memory_bytes or not gpu.memory_used_bytes:
            continue
        share = gpu.memory_used_bytes / gpu.memory_bytes
        if share > USED_SHARE:
            yield warning(
                "gpu-in-use", 2, f"Other programs use {size(gpu.memory_used_bytes)} of GPU {gpu.index}",
                f"that is {percent(share)} of its memory; the configurations plan with all of it",
                "End them, or choose the conservative configuration",
                command="nvidia-smi" if gpu.vendor == "nvidia" else "",
            )  # fmt: skip


def different_models(situation: HostSituation) -> Iterator[HostFinding]:
    """Find GPUs of several models."""
    gpus = situation.profile.gpus
    used = largest_group(gpus)
    if len(used) < len(gpus):
        yield warning(
            "mixed-gpus", 1, f"The GPUs differ ({models(gpus)})",
            "in one training, all wait for the slowest one in each step",
            f"Train on {models(used)} only; the configurations do",
            command="CUDA_VISIBLE_DEVICES=" + ",".join(str(each.index) for each in used),
        )  # fmt: skip


def split_gpus(situation: HostSituation) -> Iterator[HostFinding]:
    """Find GPUs that are split into instances."""
    split = [each.index for each in situation.profile.gpus if each.mig_enabled]
    if split:
        names = ", ".join(map(str, split))
        yield warning(
            "mig", 2, f"MIG splits GPU {names} into instances",
            "a process sees one instance; the configurations plan with whole GPUs",
            "Plan for the instance, or turn MIG off while no process runs",
            command=f"nvidia-smi -i {split[0]} -mig 0",
        )  # fmt: skip


def no_direct_links(situation: HostSituation) -> Iterator[HostFinding]:
    """Find several GPUs that exchange gradients over PCIe."""
    used = largest_group(situation.profile.gpus)
    if len(used) < 2 or any(each.nvlinks != 0 for each in used) or used[0].vendor != "nvidia":
        return
    yield suggestion(
        "no-nvlink", 1, f"The {len(used)} GPUs have no NVLink",
        "gradients pass through PCIe, and on GeForce cards through the machine's memory",
        "Prefer data parallelism with accumulated gradients to sharding and tensor parallelism",
        effect="gradients are exchanged once for each optimizer step",
    )  # fmt: skip


RULES = (
    hot_gpus, faulty_memory, split_gpus, different_models, used_memory, narrow_links, no_persistence, lowered_power,
    no_direct_links,
)  # fmt: skip
