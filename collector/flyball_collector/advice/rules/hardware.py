"""Temperature, power and broken hardware."""

from flyball_collector.advice.advice import Effort, Gain, Safety
from flyball_collector.advice.rule import AdviceDraft, Rule, shares
from flyball_collector.advice.settings import AdviceSettings
from flyball_collector.advice.situation import Situation
from flyball_collector.diagnosis.event import Event
from flyball_collector.diagnosis.health.xid_catalogue import XidClass, look_up

_RESUME_BELOW_CELSIUS = 8.0  # below the slowdown temperature


def find_improve_cooling(s: Situation, _: AdviceSettings) -> AdviceDraft | None:
    """Advise better cooling for a GPU that is too hot, or soon will be."""
    events = s.events("thermal_slowdown", "cooling_outlier")
    return AdviceDraft(
        because=s.first_reason(events),
        change="check fans, filters, airflow and exhaust from neighbours; until then, lower the power limit slightly",
    )


def find_pause_to_cool(s: Situation, settings: AdviceSettings) -> AdviceDraft | None:
    """Advise a short pause instead of a long slowdown. All ranks must pause together, well within the timeout."""
    events = s.events("thermal_slowdown")
    most = settings.collective_timeout_seconds / 4
    alone = s.world_size == 1
    who = "the run" if alone else "all ranks of the run together, at the same step"
    return AdviceDraft(
        because=s.first_reason(events),
        change=(
            f"pause {who} for at most {most:.0f} s after a checkpoint; resume when the GPU has been "
            f"{_RESUME_BELOW_CELSIUS:.0f} °C below its slowdown temperature for a minute"
        ),
        proposed={"pause_seconds": most, "all_ranks": 1.0},
        safety=Safety.SAFE if alone else Safety.CONSENT,
        caution="" if alone else "if one rank pauses alone, the collectives of the others time out",
    )


def find_raise_power_limit(s: Situation, _: AdviceSettings) -> AdviceDraft | None:
    """Advise a higher power limit for a GPU that is slower than its peers because of it."""
    ratio = s.events("power_capped")[0].evidence.get("clock_of_peers_ratio")
    slower = ratio is not None and 0 < ratio < 1
    return AdviceDraft(
        because=s.first_reason(s.events("power_capped")),
        evidence={"clock_of_peers_ratio": ratio},
        change="raise the power limit to that of the peers, or improve the cooling that makes the GPU draw more",
        gain=Gain(1.0, 1.0 / ratio) if slower and ratio is not None else None,
        caution="stay within the limits of board and supply; if memory bandwidth is the limit, clocks matter little",
    )


def find_check_power_supply(s: Situation, _: AdviceSettings) -> AdviceDraft | None:
    """Advise checking the power supply that slows down a GPU."""
    return AdviceDraft(
        because=s.first_reason(s.events("power_brake")),
        change="check the power supplies and the rack's power budget; spread the load until they are repaired",
    )


def _of_class(s: Situation, *classes: XidClass) -> tuple[Event, ...]:
    return tuple(e for e in s.events("gpu_xid") if look_up(int(e.evidence.get("xid", -1))).belongs_to in classes)


def _xids(events: tuple[Event, ...], change: str) -> AdviceDraft | None:
    if not events:
        return None
    worst = max(events, key=lambda event: (event.severity, event.time_ns))
    xid = look_up(int(worst.evidence.get("xid", -1)))
    return AdviceDraft(
        because=f"XID {xid.code}: {xid.name}",
        evidence={"xid": float(xid.code), "times_in_a_day": worst.evidence.get("times_in_a_day")},
        change=change.format(action=xid.action),
        events=events,
        caution=f"sources disagree: {xid.disputed}" if xid.disputed else "",
    )


def find_debug_application(s: Situation, _: AdviceSettings) -> AdviceDraft | None:
    """Advise debugging the application if the XID is its fault and does not follow the GPU."""
    return _xids(_of_class(s, XidClass.APPLICATION, XidClass.FOLLOW, XidClass.UNKNOWN), "{action}")


def find_reset_gpu(s: Situation, _: AdviceSettings) -> AdviceDraft | None:
    """Advise resetting the GPU if the XID requires it."""
    return _xids(_of_class(s, XidClass.RESET), "{action}")


def find_service_node(s: Situation, _: AdviceSettings) -> AdviceDraft | None:
    """Advise restarting or inspecting the machine."""
    lost = s.events("gpu_lost")
    if lost:
        return AdviceDraft(
            because=s.first_reason(lost),
            change="move the run, then drain and restart the host; if this happens again, have it inspected",
            events=lost,
        )
    return _xids(_of_class(s, XidClass.NODE), "{action}")


def find_replace_memory(s: Situation, _: AdviceSettings) -> AdviceDraft | None:
    """Advise a repair for uncorrected memory errors and failed or pending row remaps."""
    events = s.events("gpu_ecc", "gpu_row_remap")
    failed = any(event.evidence.get("failed") for event in events)
    repair = "have the GPU replaced" if failed else "reset the GPU when it is free, and test it before use"
    return AdviceDraft(
        because="; ".join(dict.fromkeys(s.reason_of(event, events) for event in events[:2])),
        change=f"if results look wrong, go back to a checkpoint from before the errors; drain the host, then {repair}",
    )


def find_evict_tenant(s: Situation, _: AdviceSettings) -> AdviceDraft | None:
    """Advise separating the run's GPU from another user's process."""
    events = s.events("co_tenant")
    return AdviceDraft(
        because=s.first_reason(events),
        change="ask the owner to move the process, or give the run exclusive GPUs (exclusive mode, device isolation)",
    )


def find_use_mains(s: Situation, _: AdviceSettings) -> AdviceDraft | None:
    """Advise mains power: a machine on battery does not train at full speed."""
    if s.power_source != "battery":
        return None
    return AdviceDraft(
        because=shares(("the machine runs on battery; {} of the GPUs' power limit is used", s.gpu_power_share))
        or "the machine runs on battery",
        change="connect the machine to mains before a long run",
        confidence=0.9,
    )


_XIDS = "NVIDIA's XID catalogue; leptonai/gpud"

RULES = (
    Rule(
        name="improve_cooling",
        description="A GPU is too hot, or hotter than its peers.",
        kinds=("thermal_slowdown", "cooling_outlier"),
        effort=Effort.HARDWARE,
        safety=Safety.ADVISE,
        source="leptonai/gpud's temperature component",
        find=find_improve_cooling,
    ),
    Rule(
        name="pause_to_cool",
        description="A GPU is throttled by heat, or soon will be.",
        kinds=("thermal_slowdown",),
        effort=Effort.SETTING,
        safety=Safety.CONSENT,
        source="NCCL's watchdog time-out (10 minutes by default in PyTorch)",
        find=find_pause_to_cool,
    ),
    Rule(
        name="raise_power_limit",
        description="A GPU is slower than its peers because of its power limit.",
        kinds=("power_capped",),
        effort=Effort.SETTING,
        safety=Safety.ADVISE,
        source="NVML's documentation of clock event reasons",
        find=find_raise_power_limit,
    ),
    Rule(
        name="check_power_supply",
        description="The power supply slows down a GPU.",
        kinds=("power_brake",),
        effort=Effort.HARDWARE,
        safety=Safety.ADVISE,
        source="NVML's documentation of clock event reasons",
        find=find_check_power_supply,
    ),
    Rule(
        name="debug_application",
        description="The driver reported a fault of the application.",
        kinds=("gpu_xid",),
        effort=Effort.CODE,
        safety=Safety.ADVISE,
        source=_XIDS,
        find=find_debug_application,
        yields_to=("reset_gpu", "service_node"),
    ),
    Rule(
        name="reset_gpu",
        description="A GPU needs a reset.",
        kinds=("gpu_xid",),
        effort=Effort.HARDWARE,
        safety=Safety.CONSENT,
        source=_XIDS,
        find=find_reset_gpu,
        yields_to=("service_node",),
    ),
    Rule(
        name="service_node",
        description="A machine needs a restart or an inspection.",
        kinds=("gpu_xid", "gpu_lost"),
        effort=Effort.HARDWARE,
        safety=Safety.CONSENT,
        source=_XIDS,
        find=find_service_node,
    ),
    Rule(
        name="replace_memory",
        description="A GPU has memory errors.",
        kinds=("gpu_ecc", "gpu_row_remap"),
        effort=Effort.HARDWARE,
        safety=Safety.CONSENT,
        source="NVIDIA's guide to GPU memory errors; leptonai/gpud",
        find=find_replace_memory,
    ),
    Rule(
        name="evict_tenant",
        description="Another user's process runs on the run's GPU.",
        kinds=("co_tenant",),
        effort=Effort.SETTING,
        safety=Safety.ADVISE,
        source="NVML's compute modes",
        find=find_evict_tenant,
    ),
    Rule(
        name="use_mains",
        description="A machine trains on battery power.",
        kinds=("power_capped", "bottleneck_gpu_compute", "bottleneck_cpu"),
        effort=Effort.SETTING,
        safety=Safety.ADVISE,
        source="Linux kernel, power supply class",
        find=find_use_mains,
    ),
)
