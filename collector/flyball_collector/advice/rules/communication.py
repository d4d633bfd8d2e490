"""Collectives, links and where memory lies."""

from flyball_collector.advice.advice import Effort, Gain, Safety
from flyball_collector.advice.amdahl import removal
from flyball_collector.advice.rule import Draft, Rule, share
from flyball_collector.advice.settings import AdviceSettings
from flyball_collector.advice.situation import Situation


def find_hide_communication(s: Situation, settings: AdviceSettings) -> Draft | None:
    """Collectives that nothing overlaps."""
    exposed = (
        s.communication_share
        if s.communication_share is not None
        else s.evidence("waiting_ratio", "communication_ratio")
    )
    if exposed is None or exposed < settings.communication_share:
        return None
    return Draft(
        because=f"{share(exposed)} of each step waits for collectives, all ranks alike",
        evidence={"communication_ratio": exposed, "world_size": _number(s.world_size)},
        change="skip synchronisation in accumulated steps (no_sync), overlap it with the backward, grow its buckets",
        gain=removal(exposed, (0.2, 0.9)),
    )


def _number(value: int | None) -> float | None:
    return None if value is None else float(value)


def find_repair_link(s: Situation, _: AdviceSettings) -> Draft | None:
    """A link that flaps or loses packets."""
    events = s.events("infiniband_flap", "network_errors")
    return Draft(
        because="; ".join(f"{event.subject.resource}: {event.because}" for event in events[:3]),
        change="drain the host at the next checkpoint, change cable or transceiver, test the port",
        caution="when all hosts are hit alike it is the fabric, not this port",
    )


def find_repair_nvlink(s: Situation, _: AdviceSettings) -> Draft | None:
    """A link between GPUs is down or noisy."""
    event = s.events("nvlink_down")[0]
    return Draft(
        because=f"{event.words()}: {event.because}",
        change="drain the host at the next checkpoint, reset its GPUs and run the NVLink checks",
    )


def find_restore_pcie(s: Situation, _: AdviceSettings) -> Draft | None:
    """A link at a part of its rate."""
    event = s.events("pcie_degraded")[0]
    return Draft(
        because=f"{event.words()}: {event.because}",
        evidence={"rate_ratio": event.evidence.get("rate_ratio")},
        change="restart the host once; if the link stays slow, reseat the board and check riser and slot",
    )


def find_pinned_transfers(s: Situation, _: AdviceSettings) -> Draft | None:
    """Copies between host and GPU at the link's limit."""
    idle = s.idle_share
    if idle is None:
        return None
    return Draft(
        because=f"transfers run at the PCIe link's limit; the GPU idles {share(idle)} of the time",
        evidence={"gpu_idle_ratio": idle},
        change="copy less (keep data on the GPU, smaller types), from pinned memory, while the GPU computes",
        gain=removal(idle, (0.1, 0.9)),
        caution="pinning in the training thread itself can be slower; let the loader do it",
    )


def find_bind_numa(s: Situation, _: AdviceSettings) -> Draft | None:
    """Memory on the other socket."""
    remote = s.evidence("remote_pages_ratio")
    return Draft(
        because=f"{share(remote)} of the memory traffic crosses to the other socket",
        evidence={"remote_pages_ratio": remote},
        change="start each rank bound to the cores and memory of its GPU's socket (at the next start)",
        gain=Gain(1.01, 1.10),
    )


RULES = (
    Rule(
        name="hide_communication",
        about="Steps wait for collectives.",
        kinds=("bottleneck_communication",),
        effort=Effort.CODE,
        safety=Safety.ADVISE,
        source="pytorch/kineto's profiler advice (communication above 10 %)",
        find=find_hide_communication,
    ),
    Rule(
        name="repair_link",
        about="A network link flaps or loses packets.",
        kinds=("infiniband_flap", "network_errors"),
        effort=Effort.HARDWARE,
        safety=Safety.ADVISE,
        source="leptonai/gpud's InfiniBand component",
        find=find_repair_link,
    ),
    Rule(
        name="repair_nvlink",
        about="NVLinks are down.",
        kinds=("nvlink_down",),
        effort=Effort.HARDWARE,
        safety=Safety.ADVISE,
        source="leptonai/gpud's NVLink component; NVIDIA's XID catalogue (74, 144–150)",
        find=find_repair_nvlink,
    ),
    Rule(
        name="restore_pcie",
        about="A PCIe link is slower than it could be.",
        kinds=("pcie_degraded",),
        effort=Effort.HARDWARE,
        safety=Safety.ADVISE,
        source="NVML's documentation of PCIe generation and width",
        find=find_restore_pcie,
    ),
    Rule(
        name="pinned_transfers",
        about="Transfers to the GPU are at the link's limit.",
        kinds=("bottleneck_pcie",),
        effort=Effort.CODE,
        safety=Safety.ADVISE,
        source="the PyTorch tutorial on pinned memory and non_blocking",
        find=find_pinned_transfers,
        leaves=("restore_pcie",),
    ),
    Rule(
        name="bind_numa",
        about="Memory lies on the other socket.",
        kinds=("bottleneck_numa",),
        effort=Effort.SETTING,
        safety=Safety.SAFE,
        source="torch elastic's NUMA binding (1 to 10 %)",
        find=find_bind_numa,
    ),
)
