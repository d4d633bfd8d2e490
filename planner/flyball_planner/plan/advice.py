"""What to change first: each change is estimated by the same models before it is recommended."""

from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from flyball_planner.catalogue.hardware import DeviceKind
from flyball_planner.models.cost import ModelCost
from flyball_planner.optimizers import find_optimizer
from flyball_planner.plan.judge import FITS, Judged, judge
from flyball_planner.plan.plan import CostSection, Recommendation, ScalingRow
from flyball_planner.plan.subject import Subject, trained_by_gradient
from flyball_planner.precision import PRECISIONS, Format
from flyball_planner.specification.training import TOKENS_A_PARAMETER
from flyball_planner.training import Attention, Training
from flyball_reports.figures import duration, money, percent, size

WORTH_TIME = 0.03  # a change that saves less of the step is not told
WORTH_MEMORY = 0.10  # of the device
FEW, MANY = 10.0, 200.0  # tokens a parameter: below, a smaller model is better; above, little is gained by more
EFFICIENT = 0.8  # of what the fewest devices reach


class Change(Struct, frozen=True):
    """Something about the training that could be otherwise."""

    words: str
    because: str
    training: Training


def recommendations(subject: Subject, judged: Judged, best_change: str | None) -> tuple[Recommendation, ...]:
    """The largest gain first; memory before time where it does not fit."""
    found: list[tuple[float, Recommendation]] = []
    for change in changes(subject, judged):
        found += _gain(change, judged, judge(subject, change.training, judged.machine, judged.layout, judged.known))
    ordered = [each for _, each in sorted(found, key=lambda pair: -pair[0])]
    if best_change and judged.verdict != FITS:
        shown = f"the fullest device is at {percent(judged.memory_share)}: {judged.verdict}"
        return (Recommendation(best_change[:1].upper() + best_change[1:], shown, ""), *ordered)
    return tuple(ordered)


def changes(subject: Subject, judged: Judged) -> Iterator[Change]:
    """What a training of this kind could do otherwise without another result."""
    training = judged.training
    if not trained_by_gradient(subject):
        return
    yield from _format(judged)
    if not training.compiled and judged.machine.device.kind is DeviceKind.GPU:
        yield Change(
            "Compile the model (torch.compile)", "elementwise operators are fused", replace(training, compiled=True)
        )
    if isinstance(subject, ModelCost):
        return
    if training.attention is Attention.MATERIALISED and judged.machine.device.kind is not DeviceKind.CPU:
        flash = replace(training, attention=Attention.FLASH)
        yield Change("Use flash attention", "the matrix of scores never lies in memory", flash)
    if not training.fused_loss and subject.vocab:
        fused = replace(training, fused_loss=True)
        yield Change("Compute the loss in chunks (fused cross entropy)", "logits never stand whole", fused)
    if training.optimizer.name == "adamw":
        lean = replace(training, optimizer=find_optimizer("adamw-8bit"))
        yield Change("Use 8-bit AdamW", "its states take a quarter; check the loss against the full one", lean)


def _format(judged: Judged) -> Iterator[Change]:
    training, device = judged.training, judged.machine.device
    if training.precision.compute is Format.FP32 and device.tensor_cores:
        name = "bf16-autocast" if device.native(Format.BF16) else "fp16-autocast"
        faster = replace(training, precision=PRECISIONS[name])
        yield Change(f"Train in mixed precision ({name})", "matrix units multiply 16-bit numbers", faster)


def _gain(change: Change, before: Judged, after: Judged) -> list[tuple[float, Recommendation]]:
    """What the change brings, if that is worth a word."""
    saved_time = 1 - after.step.middle / before.step.middle
    saved_memory = before.memory_share - after.memory_share
    fits_now = before.verdict != FITS and after.verdict == FITS
    told = []
    if saved_time >= WORTH_TIME:
        told.append(f"a step of {duration(after.step.middle)} instead of {duration(before.step.middle)}")
    if saved_memory >= WORTH_MEMORY:
        told.append(f"{size(saved_memory * before.machine.device.memory_bytes)} less on the fullest device")
    if not told and not fits_now:
        return []
    effect = ", ".join([*told, *(["it then fits"] if fits_now else [])])
    return [
        (saved_time + saved_memory + fits_now, Recommendation(change.words, change.because, f"estimated: {effect}"))
    ]


def on_size(tokens_a_parameter: float | None) -> tuple[Recommendation, ...]:
    """Whether model and data match."""
    if tokens_a_parameter is None or FEW <= tokens_a_parameter <= MANY:
        return ()
    best = f"{TOKENS_A_PARAMETER:g} use the compute best (Hoffmann et al., 2022)"
    because = f"{tokens_a_parameter:.3g} tokens a parameter; {best}"
    change = "Train a smaller model, or on more tokens" if tokens_a_parameter < FEW else "Consider a larger model"
    return (Recommendation(change, because, "a lower loss for the same FLOPs"),)


def on_scale(rows: Sequence[ScalingRow], devices: int) -> tuple[Recommendation, ...]:
    """Whether other numbers of devices are the better deal."""
    fitting = [row for row in rows if row.verdict == FITS]
    now = next((row for row in rows if row.devices == devices), None)
    if now is None or not fitting:
        return ()
    wide = [row for row in fitting if row.devices > devices and row.efficiency >= EFFICIENT * now.efficiency]
    if not wide:
        return ()
    best = max(wide, key=lambda row: row.devices)
    because = f"they keep {percent(best.efficiency / now.efficiency)} of the efficiency"
    effect = f"{best.estimated_train_time_human} instead of {now.estimated_train_time_human}"
    if now.cost_usd and best.cost_usd:
        effect += f", for {money(best.cost_usd)} instead of {money(now.cost_usd)}"
    return (Recommendation(f"Use {best.devices} devices if time matters", because, f"estimated: {effect}"),)


def on_price(cost: CostSection, spot: bool) -> tuple[Recommendation, ...]:
    """Whether another offer is much cheaper."""
    offers = [each for each in cost.offers if each.spot_cost_usd is not None and not each.caveat]
    if spot or cost.cost_usd is None or not offers:
        return ()
    best = min(offers, key=lambda each: each.spot_cost_usd.middle if each.spot_cost_usd else 0.0)
    price = best.spot_cost_usd.middle if best.spot_cost_usd else 0.0
    if price > 0.8 * cost.cost_usd.middle:
        return ()
    because = f"{best.provider} {best.instance} in {best.region} as of {best.as_of}; the run must survive interruptions"
    return (
        Recommendation(
            "Use spot instances with checkpoints", because, f"{money(price)} instead of {money(cost.cost_usd.middle)}"
        ),
    )
