"""Settings that act at the next start. Only people decide about them."""

from flyball_collector.adjustments.adjustment import Value
from flyball_collector.adjustments.declared.declared_values import SharedValue
from flyball_collector.adjustments.rules.rule import AdjustmentRule, RuleChange
from flyball_collector.adjustments.rules.run_case import RunCase

BETTER_PRECISION = ("bf16", "bfloat16", "bf16-mixed", "tf32")
"""Names of formats with the range of fp32, best first. Lightning and Transformers use these."""

NARROW = ("fp16", "float16", "16", "16-mixed", "half")
"""Names of formats whose range overflows."""


def _first(value: SharedValue, names: tuple[str, ...]) -> Value | None:
    return next((choice for name in names for choice in value.choices if choice == name), None)


def find_precision(case: RunCase, value: SharedValue) -> RuleChange | None:
    """Propose a format with tensor cores, or one with a wider range if losses overflow."""
    s = case.situation
    to = _first(value, BETTER_PRECISION)
    if to is None or value.when != "restart" or value.now in BETTER_PRECISION:
        return None
    overflow = s.events("loss_not_finite") if str(value.now) in NARROW else ()
    if overflow:
        because = f"{overflow[0].because or 'the loss is not finite'}; {value.now} has a narrow range"
        return RuleChange(to=to, because=because, events=overflow)
    advice = s.advised("mixed_precision")
    if not advice or str(value.now) in NARROW:
        return None
    gain = advice[0].gain
    return RuleChange(to=to, because=advice[0].because, gain=None if gain is None else (gain.lower, gain.upper))


def find_device(case: RunCase, value: SharedValue) -> RuleChange | None:
    """Propose the CPU at the next start if a GPU of the run is lost: it does not come back within a process."""
    events = case.situation.events("gpu_lost")
    to = _first(value, ("cpu",))
    if not events or to is None or value.now == to or value.when != "restart":
        return None
    return RuleChange(
        to=to, because=f"{events[0].words()}: {events[0].because or events[0].kind.meaning}", events=events
    )


RULES = (
    AdjustmentRule(
        name="change_precision",
        lever="precision",
        evidence="the advice `mixed_precision`; or `loss_not_finite` with a 16-bit format of narrow range",
        change="bf16, if the run declares it; at the next start",
        inverse="a person",
        safety=3,
        source="pytorch/kineto's profiler advice; DeepSpeed's loss scaling",
        find=find_precision,
        hold_seconds=60.0,
    ),
    AdjustmentRule(
        name="fall_back_to_cpu",
        lever="device",
        evidence="`gpu_lost` of a GPU of the run",
        change="the CPU, if the run declares it; at the next start",
        inverse="a person",
        safety=4,
        source="NVIDIA's XID catalogue (a lost GPU needs a restart of the process, or of the host)",
        find=find_device,
        hold_seconds=10.0,
        protects=True,
    ),
)
