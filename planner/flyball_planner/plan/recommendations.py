"""Recommendations. Each change is estimated by the same models before it is recommended."""

from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from flyball_planner.catalogue.hardware import DeviceKind
from flyball_planner.memory.adaptations import adaptations
from flyball_planner.memory.single_change import scoreless_attention
from flyball_planner.memory.verdict import Fit
from flyball_planner.models.cost import ModelCost
from flyball_planner.models.transformer.shape import TransformerKind, TransformerShape
from flyball_planner.optimizers import find_optimizer
from flyball_planner.plan.judged_layout import FITS, JudgedLayout, judge
from flyball_planner.plan.plan import CostSection, PlanRecommendation, ScalingRow
from flyball_planner.plan.subject import Subject, trained_by_gradient
from flyball_planner.precision import PRECISIONS, NumberFormat
from flyball_planner.specification.training import TOKENS_A_PARAMETER
from flyball_planner.training import Attention, Method, Training
from flyball_reports.figures import duration, figure, money, percent, size

WORTH_TIME = 0.03  # share of the step; smaller savings are not reported
WORTH_MEMORY = 0.10  # share of the device's memory
FEW, MANY = 10.0, 200.0  # tokens per parameter: below, a smaller model is better; above, more tokens gain little
THEN_FITS = "; then it fits"
EFFICIENT = 0.8  # of the efficiency on the planned number of devices


class TrainingChange(Struct, frozen=True):
    """A possible change of the training, with its reason."""

    words: str
    because: str
    training: Training


def recommendations(subject: Subject, judged: JudgedLayout, best_change: str | None) -> tuple[PlanRecommendation, ...]:
    """Return recommendations with the largest gain first; if the training does not fit, memory comes before time."""
    found: list[tuple[float, PlanRecommendation]] = []
    for change in changes(subject, judged):
        found += _gain(change, judged, judge(subject, change.training, judged.machine, judged.layout, judged.context))
    ordered = [each for _, each in sorted(found, key=lambda pair: -pair[0])]
    if best_change and judged.verdict != FITS:
        because = f"the fullest device needs {percent(judged.memory_share)} of its memory: {judged.verdict}"
        effect = "" if best_change.endswith(THEN_FITS) else "alone it is not enough"
        return (PlanRecommendation(best_change[:1].upper() + best_change[1:], because, effect), *ordered)
    return tuple(ordered)


def changes(subject: Subject, judged: JudgedLayout) -> Iterator[TrainingChange]:
    """Yield changes of a training that do not change its result."""
    training = judged.training
    if not trained_by_gradient(subject):
        return
    yield from _format(judged)
    if not training.compiled and judged.machine.device.kind is DeviceKind.GPU:
        yield TrainingChange(
            "Compile the model (torch.compile)", "elementwise operators are fused", replace(training, compiled=True)
        )
    if isinstance(subject, ModelCost):
        return
    if training.attention is Attention.MATERIALISED and judged.machine.device.kind is not DeviceKind.CPU:
        flash = replace(training, attention=Attention.FLASH)
        kernel = scoreless_attention(judged.machine.device)
        yield TrainingChange(f"Use {kernel}", "the matrix of scores is never stored", flash)
    if not training.fused_loss and subject.vocab:
        fused = replace(training, fused_loss=True)
        yield TrainingChange(
            "Compute the loss in chunks (fused cross entropy)", "only a part of the logits is stored", fused
        )
    if training.optimizer.name == "adamw" and judged.machine.device.kind is DeviceKind.GPU:  # as bitsandbytes needs
        lean = replace(training, optimizer=find_optimizer("adamw-8bit"))
        yield TrainingChange(
            "Use 8-bit AdamW", "its states need a quarter of the memory; compare the loss with AdamW's", lean
        )


def _format(judged: JudgedLayout) -> Iterator[TrainingChange]:
    training, device = judged.training, judged.machine.device
    if training.precision.compute is NumberFormat.FP32 and device.tensor_cores:
        name = "bf16-autocast" if device.native(NumberFormat.BF16) else "fp16-autocast"
        faster = replace(training, precision=PRECISIONS[name])
        yield TrainingChange(f"Train in mixed precision ({name})", "matrix units multiply 16-bit numbers", faster)


def _gain(change: TrainingChange, before: JudgedLayout, after: JudgedLayout) -> list[tuple[float, PlanRecommendation]]:
    """Return a recommendation if the change gains enough."""
    saved_time = 1 - after.step.middle / before.step.middle
    saved_memory = before.memory_share - after.memory_share
    fits_now = before.verdict != FITS and after.verdict == FITS
    gains = []
    if saved_time >= WORTH_TIME:
        gains.append(f"a step of {duration(after.step.middle)} instead of {duration(before.step.middle)}")
    if saved_memory >= WORTH_MEMORY:
        gains.append(f"{size(saved_memory * before.machine.device.memory_bytes)} less memory on the fullest device")
    if not gains and not fits_now:
        return []
    effect = ", ".join([*gains, *(["the training then fits"] if fits_now else [])])
    return [
        (saved_time + saved_memory + fits_now, PlanRecommendation(change.words, change.because, f"estimated: {effect}"))
    ]


def on_adaptation(subject: Subject, judged: JudgedLayout) -> Iterator[PlanRecommendation]:
    """Recommend LoRA and QLoRA where the training of all weights does not surely fit, but theirs does or may."""
    if not trained_by_gradient(subject) or judged.verdict == FITS:
        return
    device, constants = judged.machine.device, judged.context.learned.constants
    every = adaptations(subject, judged.training, judged.layout, device, constants)
    found = [each for each in every if each.needed_bytes <= device.memory_bytes]
    best = next((fit for fit in (Fit.YES, Fit.UNCERTAIN) if any(each.fit is fit for each in found)), None)
    effect = "the training then fits" if best is Fit.YES else "it is uncertain whether the training then fits"
    for each in found:
        if each.fit is best:
            because = f"the fullest device then needs {size(each.needed_bytes)} of {size(device.memory_bytes)}"
            also = f", with {', '.join(each.also)}" if each.also else ""
            yield PlanRecommendation(each.what[:1].upper() + each.what[1:] + also, because, effect)


def on_size(subject: Subject, training: Training, tokens_per_parameter: float | None) -> tuple[PlanRecommendation, ...]:
    """Recommend another model size if it does not match the number of tokens.

    The law is that of decoders whose weights are all trained: it does not cover adapters or encoders.
    """
    if not isinstance(subject, TransformerShape) or subject.kind is not TransformerKind.DECODER:
        return ()
    if training.method is not Method.FULL or tokens_per_parameter is None or FEW <= tokens_per_parameter <= MANY:
        return ()
    best = f"{TOKENS_A_PARAMETER:g} is compute-optimal (Hoffmann et al., 2022)"
    because = f"{figure(tokens_per_parameter)} tokens per parameter; {best}"
    change = "Train a smaller model, or on more tokens" if tokens_per_parameter < FEW else "Consider a larger model"
    return (PlanRecommendation(change, because, "a lower loss for the same FLOPs"),)


def on_scale(rows: Sequence[ScalingRow], devices: int) -> tuple[PlanRecommendation, ...]:
    """Recommend more devices if they keep most of the efficiency."""
    fitting = [row for row in rows if row.verdict == FITS]
    now = next((row for row in rows if row.devices == devices), None)
    if now is None or not fitting:
        return ()
    wide = [row for row in fitting if row.devices > devices and row.efficiency >= EFFICIENT * now.efficiency]
    if not wide:
        return ()
    best = max(wide, key=lambda row: row.devices)
    because = f"each device keeps {percent(best.efficiency / now.efficiency)} of its speed"
    effect = f"{best.estimated_train_time_human} instead of {now.estimated_train_time_human}"
    if now.cost_usd and best.cost_usd:
        effect += f", for {money(best.cost_usd)} instead of {money(now.cost_usd)}"
    return (PlanRecommendation(f"Use {best.devices} devices if time matters", because, f"estimated: {effect}"),)


def on_price(cost: CostSection, spot: bool) -> tuple[PlanRecommendation, ...]:
    """Recommend spot instances if they are much cheaper."""
    offers = [each for each in cost.offers if each.spot_cost_usd is not None and not each.caveat]
    if spot or cost.cost_usd is None or not offers:
        return ()
    best = min(offers, key=lambda each: each.spot_cost_usd.middle if each.spot_cost_usd else 0.0)
    price = best.spot_cost_usd.middle if best.spot_cost_usd else 0.0
    if price > 0.8 * cost.cost_usd.middle:
        return ()
    offer = f"{best.provider} {best.instance} in {best.region}, price as of {best.as_of}"
    because = f"{offer}; the run must tolerate interruptions"
    return (
        PlanRecommendation(
            "Use spot instances with checkpoints", because, f"{money(price)} instead of {money(cost.cost_usd.middle)}"
        ),
    )
