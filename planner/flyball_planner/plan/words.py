"""Layouts and links in words."""

from flyball_planner.catalogue.hardware import DeviceLink
from flyball_planner.layouts.layout import ParallelLayout
from flyball_planner.training import Checkpointing, Offload, Sharding

SHARDED = {
    Sharding.NONE: "",
    Sharding.ZERO1: "optimizer states sharded (ZeRO-1)",
    Sharding.ZERO2: "gradients and optimizer states sharded (ZeRO-2)",
    Sharding.ZERO3: "all states sharded (ZeRO-3, FSDP)",
}


def layout_in_words(layout: ParallelLayout, accumulation: int = 1) -> str:
    """Describe a layout in words."""
    named = (
        ("data", layout.data),
        ("tensor", layout.tensor),
        ("pipeline", layout.pipeline),
        ("context", layout.context),
    )
    ways = " × ".join(f"{count}-way {name}" for name, count in named if count > 1)
    words = [
        f"{ways} parallel" if ways else "one device",
        f"experts over {layout.expert}" if layout.expert > 1 else "",
        f"{layout.interleave} chunks per stage" if layout.interleave > 1 else "",
        "both directions at once" if layout.bidirectional else "",
        SHARDED[layout.sharding] if layout.data > 1 else "",
        "sequence parallel" if layout.sequence_parallel and layout.tensor > 1 else "",
        f"micro-batch {layout.micro_batch}" + (f" accumulated {accumulation} times" if accumulation > 1 else ""),
        "" if layout.checkpointing is Checkpointing.NONE else f"{layout.checkpointing.value} checkpointing",
        "" if layout.offload is Offload.NONE else f"{layout.offload.value} in the host's memory",
    ]
    return ", ".join(each for each in words if each)


def layout_in_short(layout: ParallelLayout) -> str:
    """Describe a layout in the width of a table cell: DP8 TP2 ZeRO-1 mb4."""
    ways = (
        ("DP", layout.data),
        ("TP", layout.tensor),
        ("PP", layout.pipeline),
        ("V", layout.interleave),
        ("CP", layout.context),
        ("EP", layout.expert),
    )
    words = [f"{name}{count}" for name, count in ways if count > 1]
    words += ["both ways"] if layout.bidirectional else []
    if layout.sharding is not Sharding.NONE and layout.data > 1:
        words.append(f"ZeRO-{layout.sharding.value[-1]}")
    words.append(f"mb{layout.micro_batch}")
    if layout.checkpointing is not Checkpointing.NONE:
        words.append(f"ckpt-{layout.checkpointing.value}")
    if layout.offload is not Offload.NONE:
        words.append(f"offload-{layout.offload.value}")
    return " ".join(words)


def link_in_words(link: DeviceLink | None) -> str:
    """Return a link's name and the rate of one device."""
    return f"{link.name}, {link.bytes_per_second / 1e9:,.4g} GB/s per device and direction" if link else ""
