"""Training few added weights instead of all: LoRA and QLoRA, each in the given layout or the nearest that fits."""

from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from flyball_planner.catalogue.hardware import ComputeDevice, DeviceKind
from flyball_planner.layouts.layout import Layouts, ParallelLayout
from flyball_planner.layouts.rules import allowed
from flyball_planner.memory.constants import CONSTANTS, Constants
from flyball_planner.memory.estimate import Subject, estimate_memory
from flyball_planner.memory.verdict import Fit, fits
from flyball_planner.models.transformer.lora import TARGETS
from flyball_planner.models.transformer.shape import TransformerShape
from flyball_planner.training import Checkpointing, Lora, Method, Sharding, Training

USUAL = Lora(16, TARGETS)  # rank 16 on all products: within the ranks 8 to 64 that Dettmers et al. 2023 found equal


class Adaptation(Struct, frozen=True):
    """A training of added weights, its layout, and the memory of the fullest device."""

    what: str  # as advice: "train low-rank additions instead of all weights (LoRA, rank 16)"
    training: Training
    layout: ParallelLayout
    needed_bytes: float
    saved_bytes: float
    fit: Fit
    also: tuple[str, ...] = ()  # what the layout changes beside the method


def adaptations(
    subject: Subject,
    training: Training,
    layout: ParallelLayout,
    device: ComputeDevice,
    constants: Constants = CONSTANTS,
) -> list[Adaptation]:
    """Return LoRA and QLoRA with the memory that they need, the smallest change first; nothing for other models."""
    if not isinstance(subject, TransformerShape):
        return []
    before = float(estimate_memory(subject, training, Layouts.of(layout), device, constants).driver.middle[0])
    return [
        _nearest_fitting(subject, what, changed, layout, device, constants, before)
        for what, changed in _methods(training, device)
    ]


def _methods(training: Training, device: ComputeDevice) -> Iterator[tuple[str, Training]]:
    lora = training.lora or USUAL
    if training.method is Method.FULL:
        yield (
            f"train low-rank additions instead of all weights (LoRA, rank {lora.rank})",
            replace(training, method=Method.LORA, lora=lora),
        )
    if training.frozen_format is None and device.kind is not DeviceKind.TPU:  # bitsandbytes has no kernels for XLA
        yield (
            f"train low-rank additions over 4-bit weights (QLoRA, rank {lora.rank})",
            replace(training, method=Method.QLORA, lora=lora),
        )


class _Variant(Struct, frozen=True):
    """A training and layout that need less memory, and in what they differ from the given ones."""

    also: tuple[str, ...]
    training: Training
    layout: ParallelLayout


def _nearest_fitting(
    subject: TransformerShape,
    what: str,
    training: Training,
    layout: ParallelLayout,
    device: ComputeDevice,
    constants: Constants,
    before: float,
) -> Adaptation:
    """Return the variant with the fewest further changes that fits; if none does, the one that needs least memory."""
    variants = list(_variants(training, layout))
    whole = [place for place, each in enumerate(variants) if each.training == training]
    found = _adapted(subject, what, variants, whole, device, constants, before)
    chunked = [place for place in range(len(variants)) if place not in whole]
    first = min((place for place, each in found.items() if each.fit is Fit.YES), default=len(variants))
    if chunked and chunked[0] < first:
        found |= _adapted(subject, what, variants, chunked, device, constants, before)
    ordered = [found[place] for place in sorted(found)]
    fitting = (each for each in ordered if each.fit is Fit.YES)
    return next(fitting, min(ordered, key=lambda each: each.needed_bytes))


def _adapted(
    subject: TransformerShape,
    what: str,
    variants: Sequence[_Variant],
    places: Sequence[int],
    device: ComputeDevice,
    constants: Constants,
    before: float,
) -> dict[int, Adaptation]:
    """Estimate the possible ones of some variants that have one training. They are one call, because calls cost
    time."""
    training, layouts = variants[places[0]].training, Layouts.of(*(variants[place].layout for place in places))
    possible = allowed(subject, training, layouts, chosen=True)
    memory = estimate_memory(subject, training, layouts, device, constants)
    needed, verdict = memory.driver.middle, fits(memory)
    return {
        place: Adaptation(
            what, training, each.layout, float(needed[row]), before - float(needed[row]), verdict[row], each.also
        )
        for row, (place, each) in enumerate((place, variants[place]) for place in places)
        if possible[row] or not each.also
    }


def _variants(training: Training, layout: ParallelLayout) -> Iterator[_Variant]:
    """Yield the training and nearby ones that need less memory, those with the fewest changes first."""
    steps = _steps(training, layout)
    for chosen in sorted(range(2 ** len(steps)), key=int.bit_count):
        taken = [each for bit, each in enumerate(steps) if chosen >> bit & 1]
        changed, placed = training, layout
        for _, of_training, of_layout in taken:
            changed, placed = replace(changed, **of_training), replace(placed, **of_layout)
        yield _Variant(tuple(what for what, *_ in taken), changed, placed)


Changes = dict[str, object]


def _steps(training: Training, layout: ParallelLayout) -> Sequence[tuple[str, Changes, Changes]]:
    """Return what can be changed, with the changes of the training and of its layout."""
    steps: list[tuple[str, Changes, Changes]] = []
    if layout.checkpointing is not Checkpointing.FULL:
        steps.append(("full checkpointing", {}, {"checkpointing": Checkpointing.FULL}))
    if layout.micro_batch > 1:
        steps.append(("micro-batches of one sample", {}, {"micro_batch": 1}))
    if layout.data > 1 and layout.sharding is not Sharding.ZERO3:
        steps.append(("sharded weights (ZeRO-3, FSDP)", {}, {"sharding": Sharding.ZERO3}))
    if not training.fused_loss:
        steps.append(("the loss in chunks (fused cross entropy)", {"fused_loss": True}, {}))
    return steps
