"""Heat, power and broken parts."""

from flyball_collector.advice.advice import Effort, Gain, Safety
from flyball_collector.advice.rule import Draft, Rule, share
from flyball_collector.advice.settings import AdviceSettings
from flyball_collector.advice.situation import Situation
from flyball_collector.diagnosis.event import Event
from flyball_collector.diagnosis.health.xid_catalogue import XidClass, look_up

_RESUME_BELOW_CELSIUS = 8.0  # the slowdown temperature


def find_improve_cooling(s: Situation, _: AdviceSettings) -> Draft | None:
    """A GPU is, or will be, too hot."""
    events = s.events("thermal_slowdown", "cooling_outlier")
    return Draft(
        because=s.first_words(events),
        change="look at fans, filters, airflow and the neighbours' exhaust; lower the power limit a little until then",
        evidence={"seconds_left": events[0].seconds_left},
    )


def find_pause_to_cool(s: Situation, settings: AdviceSettings) -> Draft | None:
    """Rather a short pause than a long crawl; beyond one rank only all together and well under the time-out."""
    events = s.events("thermal_slowdown")
    most = settings.collective_timeout_seconds / 4
    alone = s.world_size == 1
    who = "the run" if alone else "all ranks of the run together, at the same step"
    return Draft(
        because=s.first_words(events),
        change=(
            f"pause {who} for at most {most:.0f} s after a checkpoint; go on when it is {_RESUME_BELOW_CELSIUS:.0f} °C "
            "below the slowdown for a minute"
        ),
        proposed={"pause_seconds": most, "all_ranks": 1.0},
        safety=Safety.SAFE if alone else Safety.CONSENT,
        caution="" if alone else "one rank that pauses alone makes the others' collectives time out",
    )


def find_raise_power_limit(s: Situation, _: AdviceSettings) -> Draft | None:
    """Slower than its peers for its power limit."""
    ratio = s.events("power_capped")[0].evidence.get("clock_of_peers_ratio")
    slower = ratio is not None and 0 < ratio < 1
    return Draft(
        because=s.first_words(s.events("power_capped")),
        evidence={"clock_of_peers_ratio": ratio},
        change="raise the power limit to the peers', or improve the cooling that makes the GPU draw more",
        gain=Gain(1.0, 1.0 / ratio) if slower and ratio is not None else None,
        caution="within the board's limits and the supply's; bound by memory bandwidth the clock matters little",
    )


def find_check_power_supply(s: Situation, _: AdviceSettings) -> Draft | None:
    """The supply holds a GPU back."""
    return Draft(
        because=s.first_words(s.events("power_brake")),
        change="check power supplies and the rack's budget; spread the load until it is mended",
    )


def _of_class(s: Situation, *classes: XidClass) -> tuple[Event, ...]:
    return tuple(e for e in s.events("gpu_xid") if look_up(int(e.evidence.get("xid", -1))).belongs_to in classes)


def _xids(events: tuple[Event, ...], change: str) -> Draft | None:
    if not events:
        return None
    worst = max(events, key=lambda event: (event.severity, event.time_ns))
    xid = look_up(int(worst.evidence.get("xid", -1)))
    return Draft(
        because=f"XID {xid.code}: {xid.name}",
        evidence={"xid": float(xid.code), "times_in_a_day": worst.evidence.get("times_in_a_day")},
        change=change.format(action=xid.action),
        events=events,
        caution=f"sources disagree: {xid.disputed}" if xid.disputed else "",
    )


def find_debug_application(s: Situation, _: AdviceSettings) -> Draft | None:
    """The program's own fault, as long as it does not follow the GPU."""
    return _xids(_of_class(s, XidClass.APPLICATION, XidClass.FOLLOW, XidClass.UNKNOWN), "{action}")


def find_reset_gpu(s: Situation, _: AdviceSettings) -> Draft | None:
    """The GPU must be reset."""
    return _xids(_of_class(s, XidClass.RESET), "{action}")


def find_service_node(s: Situation, _: AdviceSettings) -> Draft | None:
    """The machine must be restarted or inspected."""
    lost = s.events("gpu_lost")
    if lost:
        return Draft(
            because=s.first_words(lost),
            change="move the run, drain the host and restart it; after a second time have it inspected",
            events=lost,
        )
    return _xids(_of_class(s, XidClass.NODE), "{action}")


def find_replace_memory(s: Situation, _: AdviceSettings) -> Draft | None:
    """Memory errors that were not corrected, rows that wait or fail."""
    events = s.events("gpu_ecc", "gpu_row_remap")
    failed = any(event.evidence.get("failed") for event in events)
    repair = "have the GPU replaced" if failed else "reset the GPU when it is free; test it before it is used again"
    return Draft(
        because="; ".join(dict.fromkeys(s.words_of(event, events) for event in events[:2])),
        change=f"go back to a checkpoint from before the errors if results look wrong; drain, then {repair}",
    )


def find_evict_tenant(s: Situation, _: AdviceSettings) -> Draft | None:
    """Somebody else on the run's GPU."""
    events = s.events("co_tenant")
    return Draft(
        because=s.first_words(events),
        change="ask its owner to move, or give the run GPUs of its own (exclusive mode, device isolation)",
    )


def find_use_mains(s: Situation, _: AdviceSettings) -> Draft | None:
    """A machine on battery does not train at full speed."""
    if s.power_source != "battery":
        return None
    return Draft(
        because=f"the machine runs on battery; {share(s.gpu_power_share)} of the power limit is used",
        change="connect the machine to mains before a long run",
        confidence=0.9,
    )


_XIDS = "NVIDIA's XID catalogue; leptonai/gpud"

RULES = (
    Rule(
        name="improve_cooling",
        about="A GPU is too hot, or hotter than its peers.",
        kinds=("thermal_slowdown", "cooling_outlier"),
        effort=Effort.HARDWARE,
        safety=Safety.ADVISE,
        source="leptonai/gpud's temperature component",
        find=find_improve_cooling,
    ),
    Rule(
        name="pause_to_cool",
        about="A GPU is slowed down by heat.",
        kinds=("thermal_slowdown",),
        effort=Effort.SETTING,
        safety=Safety.CONSENT,
        source="NCCL's watchdog time-out (10 minutes by default in PyTorch)",
        find=find_pause_to_cool,
    ),
    Rule(
        name="raise_power_limit",
        about="A GPU is slower than its peers for its power limit.",
        kinds=("power_capped",),
        effort=Effort.SETTING,
        safety=Safety.ADVISE,
        source="NVML's documentation of clock event reasons",
        find=find_raise_power_limit,
    ),
    Rule(
        name="check_power_supply",
        about="The supply holds a GPU back.",
        kinds=("power_brake",),
        effort=Effort.HARDWARE,
        safety=Safety.ADVISE,
        source="NVML's documentation of clock event reasons",
        find=find_check_power_supply,
    ),
    Rule(
        name="debug_application",
        about="The driver reported a fault of the application.",
        kinds=("gpu_xid",),
        effort=Effort.CODE,
        safety=Safety.ADVISE,
        source=_XIDS,
        find=find_debug_application,
        leaves=("reset_gpu", "service_node"),
    ),
    Rule(
        name="reset_gpu",
        about="A GPU needs a reset.",
        kinds=("gpu_xid",),
        effort=Effort.HARDWARE,
        safety=Safety.CONSENT,
        source=_XIDS,
        find=find_reset_gpu,
        leaves=("service_node",),
    ),
    Rule(
        name="service_node",
        about="A machine needs a restart or an inspection.",
        kinds=("gpu_xid", "gpu_lost"),
        effort=Effort.HARDWARE,
        safety=Safety.CONSENT,
        source=_XIDS,
        find=find_service_node,
    ),
    Rule(
        name="replace_memory",
        about="A GPU's memory fails.",
        kinds=("gpu_ecc", "gpu_row_remap"),
        effort=Effort.HARDWARE,
        safety=Safety.CONSENT,
        source="NVIDIA's guide to GPU memory errors; leptonai/gpud",
        find=find_replace_memory,
    ),
    Rule(
        name="evict_tenant",
        about="Another user's process is on the run's GPU.",
        kinds=("co_tenant",),
        effort=Effort.SETTING,
        safety=Safety.ADVISE,
        source="NVML's compute modes",
        find=find_evict_tenant,
    ),
    Rule(
        name="use_mains",
        about="A machine trains on battery.",
        kinds=("power_capped", "bottleneck_gpu_compute", "bottleneck_cpu"),
        effort=Effort.SETTING,
        safety=Safety.ADVISE,
        source="Linux kernel, power supply class",
        find=find_use_mains,
    ),
)
