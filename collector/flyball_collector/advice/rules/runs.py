"""Runs that are slow, stuck or uneven, and their checkpoints."""

from flyball_collector.advice.advice import Effort, Gain, Safety
from flyball_collector.advice.amdahl import MOST, removal
from flyball_collector.advice.checkpoints import best_interval, between_failures, overhead
from flyball_collector.advice.rule import AdviceDraft, Rule, share, shares
from flyball_collector.advice.settings import AdviceSettings
from flyball_collector.advice.situation import Situation
from flyball_collector.diagnosis.event import Event

_MARKED = 0.6  # share of a stall that sections of the step explain


def _slowdown(event: Event) -> Gain | None:
    """Return the gain of ending a slowdown: at most what it costs."""
    numbers = event.evidence
    ratio = numbers.get("step_ratio", 0.0)
    for own, peers in (("own_seconds", "peers_own_seconds"), ("step_seconds", "peers_step_seconds")):
        if numbers.get(own) and numbers.get(peers):
            ratio = max(ratio, numbers[own] / numbers[peers])
    return Gain(1.0, ratio) if 1.0 < ratio < MOST else None


def find_inspect_slow_rank(s: Situation, _: AdviceSettings) -> AdviceDraft | None:
    """Advise inspecting a rank that became slower than before."""
    events = s.events("fail_slow")
    return AdviceDraft(
        because=s.first_reason(events),
        change=(
            "compare clocks, temperature, PCIe and network of its host with a peer's; check who else uses the host; if "
            "nothing explains it, replace the host at the next checkpoint"
        ),
        gain=_slowdown(events[0]),
        caution="evaluation, checkpoints and longer sequences also slow down a rank",
    )


def find_swap_straggler(s: Situation, _: AdviceSettings) -> AdviceDraft | None:
    """Advise replacing the host of a rank that holds up all others."""
    events = s.events("straggler")
    return AdviceDraft(
        because=s.first_reason(events),
        change="replace the host with a spare one at the next checkpoint, then drain and test it",
        gain=_slowdown(events[0]),
        caution="if a different rank is the straggler in each epoch, the data is the cause and not the hardware",
    )


def find_look_at_run(s: Situation, _: AdviceSettings) -> AdviceDraft | None:
    """Advise checking what all ranks share if all became slower together."""
    events = s.events("run_slow")
    return AdviceDraft(
        because=s.first_reason(events),
        change="check what all ranks share: storage, network, sequence lengths of the data, a change of the code",
        gain=_slowdown(events[0]),
    )


def find_balance_load(s: Situation, _: AdviceSettings) -> AdviceDraft | None:
    """Advise balancing the work of the ranks."""
    spread = s.evidence("work_spread_ratio")
    return AdviceDraft(
        because=shares(("the work of the ranks differs by {}", spread)) or s.first_reason(s.events("load_imbalance")),
        evidence={"work_spread_ratio": spread},
        change="bucket samples by length or pack them, so that all ranks get the same number of tokens",
        gain=removal(min(spread, 0.9), (0.2, 1.0)) if spread is not None else None,
        caution="this changes which samples share a batch",
    )


def find_look_at_outliers(s: Situation, _: AdviceSettings) -> AdviceDraft | None:
    """Advise checking single steps that take many times as long as usual."""
    return AdviceDraft(
        because=s.events("step_outliers")[0].because or "single steps take many times as long as usual",
        change="check what happens in these steps: evaluation, checkpoints, logging, garbage collection, recompilation",
    )


def find_look_at_stalls(s: Situation, _: AdviceSettings) -> AdviceDraft | None:
    """Advise finding what stops a run in regular distance, or doing it more rarely or in parallel."""
    lost, marked = s.evidence("lost_ratio"), s.evidence("marked_ratio")
    known = marked is not None and marked >= _MARKED
    return AdviceDraft(
        because=s.first_reason(s.events("periodic_stalls")),
        evidence={"lost_ratio": lost, "marked_ratio": marked},
        change=(
            "save in parallel with the training, or save and evaluate more rarely"
            if known
            else "look for what runs as often as this: saving, evaluation, garbage collection, a cron job of a host, a "
            "scan of the storage; capture stacks during a stall"
        ),
        gain=removal(min(lost, 0.9), (0.2, 1.0)) if lost is not None else None,
    )


def find_capture_stacks(s: Situation, _: AdviceSettings) -> AdviceDraft | None:
    """Advise capturing stacks if no step ends any more."""
    return AdviceDraft(
        because=s.events("run_hang")[0].because or "the run no longer completes steps",
        change="capture the stacks of all ranks (py-spy dump) and the flight recorder of the collectives; then restart",
        caution="capture first: a restart loses the evidence and the work since the last checkpoint",
    )


def find_look_at_start(s: Situation, _: AdviceSettings) -> AdviceDraft | None:
    """Advise checking a run that holds GPUs but has not completed a step."""
    return AdviceDraft(
        because=s.events("slow_start")[0].because or "the run holds GPUs but has not completed a step",
        change="check whether the run loads data, compiles, or waits for a rank that did not start",
    )


def find_stop_bad_loss(s: Situation, _: AdviceSettings) -> AdviceDraft | None:
    """Advise stopping a run whose loss is NaN or infinite."""
    return AdviceDraft(
        because=s.events("loss_not_finite")[0].because or "the loss is NaN or infinite",
        change="stop, go back to the last good checkpoint, use bfloat16 or a lower learning rate, check the batch",
        caution="single steps skipped by an fp16 loss scaler are normal",
    )


def find_asynchronous_checkpoint(s: Situation, _: AdviceSettings) -> AdviceDraft | None:
    """Advise asynchronous checkpoints if the training stops while checkpoints are written."""
    stall = s.checkpoint_share if s.checkpoint_share is not None else s.evidence("checkpoint_ratio")
    if stall is None or stall <= 0.05:
        return None
    return AdviceDraft(
        because=f"{share(stall)} of the time is spent writing checkpoints",
        evidence={"checkpoint_ratio": stall, "checkpoint_seconds": s.checkpoint_seconds},
        change="copy the state to host memory and write it in the background (asynchronous checkpoints)",
        gain=removal(stall, (0.5, 0.95)),
        caution="the copy needs as much host memory as the state; keep the last complete checkpoint",
    )


def find_checkpoint_interval(s: Situation, settings: AdviceSettings) -> AdviceDraft | None:
    """Advise Young's optimal checkpoint interval for the job's mean time between failures."""
    cost, interval, gpus = s.checkpoint_seconds, s.checkpoint_interval_seconds, s.world_size
    if not cost or not interval or not gpus or cost <= 0 or interval <= 0:
        return None
    mean = between_failures(settings.gpu_hours_between_failures, gpus)
    best = best_interval(cost, mean)
    if abs(best / interval - 1.0) <= settings.checkpoint_change_share:
        return None
    gain = (1.0 + overhead(interval, cost, mean)) / (1.0 + overhead(best, cost, mean))
    return AdviceDraft(
        because=(
            f"a checkpoint every {interval:.0f} s stops training for {cost:.1f} s; one of {gpus} GPUs fails every "
            f"{mean / 3600:.0f} h"
        ),
        evidence={"checkpoint_seconds": cost, "checkpoint_interval_seconds": interval, "gpus": float(gpus)},
        change=f"write a checkpoint every {best:.0f} s",
        proposed={"checkpoint_interval_seconds": best},
        gain=Gain(1.0, max(1.0, gain)),
        confidence=0.6,
        caution="the mean time between failures is a published value, not measured here",
    )


RULES = (
    Rule(
        name="inspect_slow_rank",
        description="A rank became slower than before.",
        kinds=("fail_slow",),
        effort=Effort.CODE,
        safety=Safety.ADVISE,
        source="arXiv 2410.12588 (fail-slows delay jobs 1.34× on average)",
        find=find_inspect_slow_rank,
        yields_to=("swap_straggler",),
    ),
    Rule(
        name="swap_straggler",
        description="One rank holds up the others.",
        kinds=("straggler",),
        effort=Effort.SETTING,
        safety=Safety.CONSENT,
        source="NVIDIA/nvidia-resiliency-ext; DLRover",
        find=find_swap_straggler,
    ),
    Rule(
        name="look_at_run",
        description="All ranks became slower together.",
        kinds=("run_slow",),
        effort=Effort.CODE,
        safety=Safety.ADVISE,
        source="arXiv 2410.12588",
        find=find_look_at_run,
    ),
    Rule(
        name="balance_load",
        description="Ranks get unequal amounts of work.",
        kinds=("load_imbalance",),
        effort=Effort.CODE,
        safety=Safety.ADVISE,
        source="smdebug's profiler rule on load balancing",
        find=find_balance_load,
        changes_results=True,
    ),
    Rule(
        name="look_at_outliers",
        description="Single steps take many times as long as usual.",
        kinds=("step_outliers",),
        effort=Effort.CODE,
        safety=Safety.ADVISE,
        source="smdebug's profiler rule on step outliers",
        find=find_look_at_outliers,
    ),
    Rule(
        name="look_at_stalls",
        description="All ranks of a run stop again and again, in regular distance.",
        kinds=("periodic_stalls",),
        effort=Effort.CODE,
        safety=Safety.ADVISE,
        source="measured share of the time; no published figure",
        find=find_look_at_stalls,
    ),
    Rule(
        name="capture_stacks",
        description="A run no longer completes steps.",
        kinds=("run_hang",),
        effort=Effort.SETTING,
        safety=Safety.CONSENT,
        source="DLRover; NVIDIA/nvidia-resiliency-ext",
        find=find_capture_stacks,
    ),
    Rule(
        name="look_at_start",
        description="A run has not completed a step.",
        kinds=("slow_start",),
        effort=Effort.SETTING,
        safety=Safety.ADVISE,
        source="smdebug's profiler rule on initialization time",
        find=find_look_at_start,
    ),
    Rule(
        name="stop_bad_loss",
        description="The loss is NaN or infinite.",
        kinds=("loss_not_finite",),
        effort=Effort.CODE,
        safety=Safety.CONSENT,
        source="DeepSpeed's loss scaling",
        find=find_stop_bad_loss,
        changes_results=True,
    ),
    Rule(
        name="asynchronous_checkpoint",
        description="Training stops while checkpoints are written.",
        kinds=("bottleneck_checkpoint",),
        effort=Effort.CODE,
        safety=Safety.ADVISE,
        source="torch.distributed.checkpoint's async_save",
        find=find_asynchronous_checkpoint,
    ),
    Rule(
        name="checkpoint_interval",
        description="Checkpoints are too frequent or too rare.",
        kinds=("bottleneck_checkpoint", "gpu_xid", "thermal_slowdown", "gpu_ecc", "oom_kill"),
        effort=Effort.SETTING,
        safety=Safety.SAFE,
        source="Young 1974, Daly 2006; arXiv 2410.18124; the Llama 3 report (419 interruptions in 54 days)",
        find=find_checkpoint_interval,
    ),
)
