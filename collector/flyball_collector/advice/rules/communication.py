"""Collectives, links and NUMA placement."""

from flyball_collector.advice.advice import Effort, Gain, Safety
from flyball_collector.advice.amdahl import removal
from flyball_collector.advice.rule import AdviceDraft, Rule, share, shares
from flyball_collector.advice.settings import AdviceSettings
from flyball_collector.advice.situation import Situation


def find_hide_communication(s: Situation, settings: AdviceSettings) -> AdviceDraft | None:
    """Advise hiding collectives that are not overlapped with computing."""
    exposed = (
        s.communication_share
        if s.communication_share is not None
        else s.evidence("waiting_ratio", "communication_ratio")
    )
    if exposed is None or exposed < settings.communication_share:
        return None
    return AdviceDraft(
        because=f"all ranks wait for collectives in {share(exposed)} of each step",
        evidence={"communication_ratio": exposed, "world_size": _number(s.world_size)},
        change="accumulate without synchronisation (no_sync), overlap it with the backward pass, use larger buckets",
        gain=removal(exposed, (0.2, 0.9)),
    )


def _number(value: int | None) -> float | None:
    return None if value is None else float(value)


def find_repair_link(s: Situation, _: AdviceSettings) -> AdviceDraft | None:
    """Advise repairing a link that flaps or loses packets."""
    events = s.events("infiniband_flap", "network_errors")
    return AdviceDraft(
        because="; ".join(f"{event.subject.resource}: {event.because}" for event in events[:3]),
        change="drain the host at the next checkpoint; replace cable or transceiver, test the port",
        caution="if all hosts are affected, the fabric is the cause and not this port",
    )


def find_repair_nvlink(s: Situation, _: AdviceSettings) -> AdviceDraft | None:
    """Advise inspecting NVLinks that are down or have errors."""
    event = s.events("nvlink_down")[0]
    return AdviceDraft(
        because=f"{event.words()}: {event.because}",
        change="drain the host at the next checkpoint, check the links (nvidia-smi nvlink --status) and reset its GPUs",
    )


def find_restore_pcie(s: Situation, _: AdviceSettings) -> AdviceDraft | None:
    """Advise repairing a PCIe link that runs below its rate."""
    event = s.events("pcie_degraded")[0]
    return AdviceDraft(
        because=f"{event.words()}: {event.because}",
        evidence={"rate_ratio": event.evidence.get("rate_ratio")},
        change="restart the host once; if the link stays slow, reseat the GPU, check riser and slot",
    )


def find_pinned_transfers(s: Situation, _: AdviceSettings) -> AdviceDraft | None:
    """Advise better copies between host and GPU if the link is at its limit."""
    idle = s.idle_share
    if idle is None:
        return None
    return AdviceDraft(
        because=f"transfers run at the PCIe link's limit; the GPU idles {share(idle)} of the time",
        evidence={"gpu_idle_ratio": idle},
        change="copy less (keep data on the GPU, use smaller types); copy from pinned memory while the GPU computes",
        gain=removal(idle, (0.1, 0.9)),
        caution="pinning memory in the training thread can be slower; let the loader do it",
    )


def find_bind_numa(s: Situation, _: AdviceSettings) -> AdviceDraft | None:
    """Advise binding ranks to the socket of their GPU."""
    remote = s.evidence("remote_pages_ratio")
    return AdviceDraft(
        because=shares(("{} of new memory pages come from the other socket", remote))
        or s.first_reason(s.events("bottleneck_numa")),
        evidence={"remote_pages_ratio": remote},
        change="at the next start, bind each rank to the cores and memory of its GPU's socket",
        gain=Gain(1.01, 1.10),
    )


RULES = (
    Rule(
        name="hide_communication",
        description="Steps wait for collectives.",
        kinds=("bottleneck_communication",),
        effort=Effort.CODE,
        safety=Safety.ADVISE,
        source="pytorch/kineto's profiler advice (communication above 10 %)",
        find=find_hide_communication,
    ),
    Rule(
        name="repair_link",
        description="A network link flaps or loses packets.",
        kinds=("infiniband_flap", "network_errors"),
        effort=Effort.HARDWARE,
        safety=Safety.ADVISE,
        source="leptonai/gpud's InfiniBand component",
        find=find_repair_link,
    ),
    Rule(
        name="repair_nvlink",
        description="NVLinks are down or have errors.",
        kinds=("nvlink_down",),
        effort=Effort.HARDWARE,
        safety=Safety.ADVISE,
        source="leptonai/gpud's NVLink component; NVIDIA's XID catalogue (74, 144–150)",
        find=find_repair_nvlink,
    ),
    Rule(
        name="restore_pcie",
        description="A PCIe link is slower than GPU and slot allow.",
        kinds=("pcie_degraded",),
        effort=Effort.HARDWARE,
        safety=Safety.ADVISE,
        source="NVML's documentation of PCIe generation and width",
        find=find_restore_pcie,
    ),
    Rule(
        name="pinned_transfers",
        description="Transfers to the GPU run at the link's limit.",
        kinds=("bottleneck_pcie",),
        effort=Effort.CODE,
        safety=Safety.ADVISE,
        source="the PyTorch tutorial on pinned memory and non_blocking",
        find=find_pinned_transfers,
        yields_to=("restore_pcie",),
    ),
    Rule(
        name="bind_numa",
        description="Memory is allocated on the other socket.",
        kinds=("bottleneck_numa",),
        effort=Effort.SETTING,
        safety=Safety.SAFE,
        source="torch elastic's NUMA binding (1 to 10 %)",
        find=find_bind_numa,
    ),
)
