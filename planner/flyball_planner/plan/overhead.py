"""Recommendations for steps that mostly consist of kernel launches and Python between them."""

from collections.abc import Iterator

from msgspec.structs import replace

from flyball_planner.catalogue.hardware import DeviceKind
from flyball_planner.catalogue.machines import machine
from flyball_planner.layouts.layout import ParallelLayout
from flyball_planner.plan.judged_layout import TOO_LARGE, JudgedLayout, judge
from flyball_planner.plan.plan import PlanRecommendation
from flyball_planner.plan.roofline import DECISIVE, OVERHEADS
from flyball_planner.plan.subject import Subject, trained_by_gradient
from flyball_planner.plan.whole_run import overhead_share
from flyball_planner.precision import PRECISIONS
from flyball_planner.timing.estimate import flops_per_sample
from flyball_reports.figures import duration, figure, percent, rate

LARGER = 8  # times the batch: enough to see what a step's constant part costs
WORTH = 1.2  # times as many samples per second
PROCESSOR = "CPU 8 cores 3.5 GHz"  # a usual desktop's


def on_overhead(subject: Subject, judged: JudgedLayout) -> Iterator[PlanRecommendation]:
    """Recommend what shortens the constant part of a step, or spreads it over more samples."""
    share = overhead_share(judged)
    if not trained_by_gradient(subject) or share <= DECISIVE:
        return
    overhead = sum(judged.parts.get(name, 0.0) for name in OVERHEADS)
    because = f"{percent(share)} of a step is overhead, which hardly depends on the batch"
    yield from _larger_batch(subject, judged, because)
    if judged.machine.device.kind is not DeviceKind.GPU:
        return
    change = "Capture the step in a CUDA graph (torch.compile with mode='reduce-overhead')"
    best = f"estimated: at best a step of {duration(judged.step.middle - overhead)}"
    because = "one launch replaces those of all kernels and the Python between them"
    yield PlanRecommendation(change, because, f"{best} instead of {duration(judged.step.middle)}")
    yield from _processor(subject, judged)


def _larger_batch(subject: Subject, judged: JudgedLayout, because: str) -> Iterator[PlanRecommendation]:
    training = replace(judged.training, global_batch=LARGER * judged.training.global_batch)
    layout = replace(judged.layout, micro_batch=LARGER * judged.layout.micro_batch)
    after = judge(subject, training, judged.machine, layout, judged.context)
    if after.verdict == TOO_LARGE or after.samples_per_second < WORTH * judged.samples_per_second:
        return
    change = f"Use a larger batch, such as {training.global_batch:,} samples, and adapt the learning rate"
    speeds = f"{figure(after.samples_per_second)} instead of {figure(judged.samples_per_second)} samples per second"
    yield PlanRecommendation(change, because, f"estimated: {speeds}")


def _processor(subject: Subject, judged: JudgedLayout) -> Iterator[PlanRecommendation]:
    batch = judged.training.global_batch
    training = replace(judged.training, precision=PRECISIONS["fp32"])
    after = judge(subject, training, machine(PROCESSOR, 1), ParallelLayout(micro_batch=batch))
    if after.verdict != TOO_LARGE and after.step.middle < judged.computed.middle:
        because = f"a step is only {rate(flops_per_sample(subject, training) * batch, 'FLOP')}"
        took = f"{duration(after.step.middle)} on eight cores instead of {duration(judged.computed.middle)}"
        yield PlanRecommendation("Try the processor in place of the device", because, f"estimated: a step of {took}")
