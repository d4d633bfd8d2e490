"""Runs that do not go as they did: slow, stuck, uneven, not finite; and their checkpoints."""

from flyball_collector.advice.advice import Effort, Gain, Safety
from flyball_collector.advice.amdahl import MOST, removal
from flyball_collector.advice.checkpoints import best_interval, between_failures, overhead
from flyball_collector.advice.rule import Draft, Rule, share
from flyball_collector.advice.settings import AdviceSettings
from flyball_collector.advice.situation import Situation
from flyball_collector.diagnosis.event import Event


def _slowdown(event: Event) -> Gain | None:
    """What ending it brings: as much as it took, at most."""
    said = event.evidence
    ratio = said.get("step_ratio", 0.0)
    for own, peers in (("own_seconds", "peers_own_seconds"), ("step_seconds", "peers_step_seconds")):
        if said.get(own) and said.get(peers):
            ratio = max(ratio, said[own] / said[peers])
    return Gain(1.0, ratio) if 1.0 < ratio < MOST else None


def find_inspect_slow_rank(s: Situation, _: AdviceSettings) -> Draft | None:
    """A rank became slower than it was."""
    events = s.events("fail_slow")
    return Draft(
        because=s.first_words(events),
        change=(
            "compare clocks, temperature, PCIe and network of its host with a peer's; look at who else uses it; if "
            "nothing explains it, swap the host at the next checkpoint"
        ),
        gain=_slowdown(events[0]),
        caution="evaluation, checkpoints and longer sequences slow a rank too",
    )


def find_swap_straggler(s: Situation, _: AdviceSettings) -> Draft | None:
    """One rank holds all others up."""
    events = s.events("straggler")
    return Draft(
        because=s.first_words(events),
        change="swap the host for a spare one at the next checkpoint, then drain and test it",
        gain=_slowdown(events[0]),
        caution="a straggler that is another rank each epoch is the data's, not the hardware's",
    )


def find_look_at_run(s: Situation, _: AdviceSettings) -> Draft | None:
    """All ranks are slower together."""
    events = s.events("run_slow")
    return Draft(
        because=s.first_words(events),
        change="look at what all ranks share: storage, network, the data's sequence length, an update of the code",
        gain=_slowdown(events[0]),
    )


def find_balance_load(s: Situation, _: AdviceSettings) -> Draft | None:
    """Ranks are given unequal work."""
    spread = s.evidence("work_spread_ratio")
    return Draft(
        because=f"ranks are given unequal work (spread {share(spread)})",
        evidence={"work_spread_ratio": spread},
        change="bucket samples by length, or pack them, so that ranks get equal numbers of tokens",
        gain=removal(min(spread, 0.9), (0.2, 1.0)) if spread is not None else None,
        caution="it changes which samples stand together in a batch",
    )


def find_look_at_outliers(s: Situation, _: AdviceSettings) -> Draft | None:
    """Single steps take many times the usual."""
    return Draft(
        because=s.events("step_outliers")[0].because or "single steps take many times the usual",
        change="see what happens in these steps: evaluation, checkpoints, logging, garbage collection, re-compilation",
    )


def find_capture_stacks(s: Situation, _: AdviceSettings) -> Draft | None:
    """No step ends any more."""
    return Draft(
        because=s.events("run_hang")[0].because or "no step ends any more",
        change="capture the stacks of all ranks (py-spy dump) and the collectives' flight recorder; then restart",
        caution="a restart loses the work since the last checkpoint, and a hang's evidence: capture first",
    )


def find_look_at_start(s: Situation, _: AdviceSettings) -> Draft | None:
    """It holds GPUs and has not begun."""
    return Draft(
        because=s.events("slow_start")[0].because or "the run holds GPUs and has not made a step",
        change="see whether it loads data, compiles, or waits for a rank that never came",
    )


def find_stop_bad_loss(s: Situation, _: AdviceSettings) -> Draft | None:
    """The loss is no number."""
    return Draft(
        because=s.events("loss_not_finite")[0].because or "the loss is no number",
        change="stop, go back to the last good checkpoint, use bfloat16 or a lower learning rate, look at the batch",
        caution="single skipped steps of an fp16 loss scaler are normal",
    )


def find_asynchronous_checkpoint(s: Situation, _: AdviceSettings) -> Draft | None:
    """Training stands while checkpoints are written."""
    stall = s.checkpoint_share if s.checkpoint_share is not None else s.evidence("checkpoint_ratio")
    if stall is None or stall <= 0.05:
        return None
    return Draft(
        because=f"{share(stall)} of the time is spent writing checkpoints",
        evidence={"checkpoint_ratio": stall, "checkpoint_seconds": s.checkpoint_seconds},
        change="copy the state to host memory and write it in the background (asynchronous checkpoints)",
        gain=removal(stall, (0.5, 0.95)),
        caution="the copy needs host memory as large as the state; keep the last whole checkpoint",
    )


def find_checkpoint_interval(s: Situation, settings: AdviceSettings) -> Draft | None:
    """Young's optimum for the job's own mean time between failures."""
    cost, interval, gpus = s.checkpoint_seconds, s.checkpoint_interval_seconds, s.world_size
    if not cost or not interval or not gpus or cost <= 0 or interval <= 0:
        return None
    mean = between_failures(settings.gpu_hours_between_failures, gpus)
    best = best_interval(cost, mean)
    if abs(best / interval - 1.0) <= settings.checkpoint_change_share:
        return None
    gain = (1.0 + overhead(interval, cost, mean)) / (1.0 + overhead(best, cost, mean))
    return Draft(
        because=(
            f"a checkpoint each {interval:.0f} s stops training for {cost:.1f} s; one of {gpus} GPUs fails each "
            f"{mean / 3600:.0f} h"
        ),
        evidence={"checkpoint_seconds": cost, "checkpoint_interval_seconds": interval, "gpus": float(gpus)},
        change=f"write one each {best:.0f} s",
        proposed={"checkpoint_interval_seconds": best},
        gain=Gain(1.0, max(1.0, gain)),
        confidence=0.6,
        caution="the mean time between failures is a published one, not measured here",
    )


RULES = (
    Rule(
        name="inspect_slow_rank",
        about="A rank became slower than it was.",
        kinds=("fail_slow",),
        effort=Effort.CODE,
        safety=Safety.ADVISE,
        source="arXiv 2410.12588 (fail-slows delay jobs 1.34× on average)",
        find=find_inspect_slow_rank,
        leaves=("swap_straggler",),
    ),
    Rule(
        name="swap_straggler",
        about="One rank holds the others up.",
        kinds=("straggler",),
        effort=Effort.SETTING,
        safety=Safety.CONSENT,
        source="NVIDIA/nvidia-resiliency-ext; DLRover",
        find=find_swap_straggler,
    ),
    Rule(
        name="look_at_run",
        about="All ranks became slower together.",
        kinds=("run_slow",),
        effort=Effort.CODE,
        safety=Safety.ADVISE,
        source="arXiv 2410.12588",
        find=find_look_at_run,
    ),
    Rule(
        name="balance_load",
        about="Ranks are given unequal work.",
        kinds=("load_imbalance",),
        effort=Effort.CODE,
        safety=Safety.ADVISE,
        source="smdebug's profiler rule on load balancing",
        find=find_balance_load,
        changes_results=True,
    ),
    Rule(
        name="look_at_outliers",
        about="Single steps take many times the usual.",
        kinds=("step_outliers",),
        effort=Effort.CODE,
        safety=Safety.ADVISE,
        source="smdebug's profiler rule on step outliers",
        find=find_look_at_outliers,
    ),
    Rule(
        name="capture_stacks",
        about="No step ends any more.",
        kinds=("run_hang",),
        effort=Effort.SETTING,
        safety=Safety.CONSENT,
        source="DLRover; NVIDIA/nvidia-resiliency-ext",
        find=find_capture_stacks,
    ),
    Rule(
        name="look_at_start",
        about="A run has not made a step.",
        kinds=("slow_start",),
        effort=Effort.SETTING,
        safety=Safety.ADVISE,
        source="smdebug's profiler rule on initialization time",
        find=find_look_at_start,
    ),
    Rule(
        name="stop_bad_loss",
        about="The loss is no number.",
        kinds=("loss_not_finite",),
        effort=Effort.CODE,
        safety=Safety.CONSENT,
        source="DeepSpeed's loss scaling",
        find=find_stop_bad_loss,
        changes_results=True,
    ),
    Rule(
        name="asynchronous_checkpoint",
        about="Training stands while checkpoints are written.",
        kinds=("bottleneck_checkpoint",),
        effort=Effort.CODE,
        safety=Safety.ADVISE,
        source="torch.distributed.checkpoint's async_save",
        find=find_asynchronous_checkpoint,
    ),
    Rule(
        name="checkpoint_interval",
        about="Checkpoints are too frequent or too rare.",
        kinds=("bottleneck_checkpoint", "gpu_xid", "thermal_slowdown", "gpu_ecc", "oom_kill"),
        effort=Effort.SETTING,
        safety=Safety.SAFE,
        source="Young 1974, Daly 2006; arXiv 2410.18124; the Llama 3 report (419 interruptions in 54 days)",
        find=find_checkpoint_interval,
    ),
)
