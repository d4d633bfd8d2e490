"""The section `training`: batch, length, optimizer and precision, completed by defaults."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from flyball_planner.catalogue.hardware import ComputeDevice, DeviceKind
from flyball_planner.models.cost import ModelCost
from flyball_planner.models.transformer.counts import parameters
from flyball_planner.models.transformer.shape import TransformerShape
from flyball_planner.optimizers import find_optimizer
from flyball_planner.precision import PRECISIONS, NumberFormat
from flyball_planner.specification.adaptation import frozen_precision, read_adaptation
from flyball_planner.training import Attention, Training
from flyball_reports.errors import InputError
from flyball_reports.specification.sections import SpecificationFaults

TOKENS_A_PARAMETER = 20.0  # Hoffmann et al., 2022, table A3: compute-optimal
USUAL_BATCH = 32
USUAL_SEQUENCE = 2048
USUAL_OPTIMIZER = "adamw"

Subject = TransformerShape | ModelCost


class Completed(Struct, frozen=True):
    """A training, and the assumptions that were made for it."""

    training: Training
    assumptions: tuple[str, ...]


def complete(
    values: Mapping[str, Any],
    subject: Subject,
    device: ComputeDevice,
    faults: SpecificationFaults,
    precision_key: str = "precision",
) -> Completed | None:
    """Return the complete training; nothing if it has a fault, which is reported. `precision_key` is as written."""
    assumed: list[str] = []
    sequence = _sequence(values, subject, assumed)
    classical = isinstance(subject, ModelCost) and not subject.trained_by_gradient
    batch = (None if classical else values.get("batch_size")) or _usual_batch(subject, assumed)
    samples = _samples(values, subject, sequence, batch, faults, assumed)
    adapted = read_adaptation(values, subject, faults)
    assumed += adapted.assumptions
    if classical and "precision" in values:
        faults.add(
            "training.precision",
            "a classical model computes in its data's format; remove this key, or set model.precision",
        )
    try:
        optimizer = find_optimizer(USUAL_OPTIMIZER if classical else _optimizer_name(values))
    except InputError as error:
        faults.add("training.optimizer", str(error))
        return None
    if faults.problems:
        return None
    given = values.get("precision") or usual_precision(device)
    precision = frozen_precision(given, precision_key, adapted.method)
    if precision != given:
        assumed.append("frozen weights are loaded in 16 bits; precision: " + given + " means fp32 weights")
    training = Training(
        sequence=sequence,
        global_batch=batch,
        optimizer=optimizer,
        precision=PRECISIONS[precision],
        method=adapted.method,
        lora=adapted.lora,
        quantisation=adapted.quantisation,
        **{name: values[name] for name in ("virtual_tokens", "bottleneck_width") if name in values},
        attention=values.get("attention") or usual_attention(device),
        compiled=values.get("compiled", False),
        framework=values.get("framework", "pytorch"),
        fp32_gradients=values.get("fp32_gradients", False),
        fused_loss=values.get("fused_loss", False),
        cached_tokens=values.get("evaluation_tokens", 0),
        samples=samples,
    )
    assumed += attention_remark(subject, training.attention, device)
    return Completed(training, tuple(assumed))


def _optimizer_name(values: Mapping[str, Any]) -> str:
    """Return the name of the optimizer; momentum decides whether sgd keeps a moment of each weight."""
    name = str(values.get("optimizer", USUAL_OPTIMIZER))
    return "sgd-momentum" if name.casefold() == "sgd" and values.get("momentum") else name


def usual_precision(device: ComputeDevice) -> str:
    """Return a profile's format; else bf16 if the device supports it, else fp16 if it has matrix units for it."""
    if device.default_format is not None and device.default_format.value in PRECISIONS:
        return device.default_format.value
    if device.kind is DeviceKind.CPU:
        return "fp32"
    if device.native(NumberFormat.BF16):
        return "bf16"
    return "fp16" if device.native(NumberFormat.FP16) else "fp32"


def attention_remark(subject: Subject, attention: Attention, device: ComputeDevice) -> tuple[str, ...]:
    """Return what computes attention on cards that flash kernels do not support."""
    if isinstance(subject, ModelCost) or attention is not Attention.FLASH or device.flash_kernels:
        return ()
    needed = "flash attention needs compute capability 8.0 (Ampere)"
    assumed = "torch's memory-efficient attention is assumed, which stores no scores either; its speed is less certain"
    return (f"{device.name}: {needed}; {assumed}",)


def usual_attention(device: ComputeDevice) -> Attention:
    """Return attention without stored scores for every accelerator; processors write the scores."""
    return Attention.MATERIALISED if device.kind is DeviceKind.CPU else Attention.FLASH


def _sequence(values: Mapping[str, Any], subject: Subject, assumed: list[str]) -> int:
    if isinstance(subject, ModelCost):
        return int(values.get("sequence", subject.tokens))
    if subject.patches:
        return subject.patches.tokens
    if "sequence" in values:
        return int(values["sequence"])
    sequence = min(subject.max_positions or USUAL_SEQUENCE, USUAL_SEQUENCE)
    assumed.append(f"no sequence length given: {sequence} tokens")
    return sequence


def _usual_batch(subject: Subject, assumed: list[str]) -> int:
    if isinstance(subject, ModelCost) and (subject.batch or not subject.trained_by_gradient):
        return max(1, subject.batch)
    assumed.append(f"no batch size given: {USUAL_BATCH} samples per optimizer step")
    return USUAL_BATCH


def _samples(
    values: Mapping[str, Any],
    subject: Subject,
    sequence: int,
    batch: int,
    faults: SpecificationFaults,
    assumed: list[str],
) -> int:
    """Return the samples of the complete run, from whichever length is given."""
    lengths = [name for name in ("tokens", "steps", "samples") if name in values]
    if len(lengths) > 1:
        faults.add(f"training.{lengths[1]}", f"is redundant with {lengths[0]}; keep one of them")
    epochs = float(values.get("epochs", 1.0))
    if "tokens" in values:
        return max(1, round(float(values["tokens"]) * epochs / sequence))
    if "steps" in values:
        assumed += ["epochs: not used beside steps"] * ("epochs" in values)
        return int(values["steps"]) * batch
    if "samples" in values:
        return max(1, round(float(values["samples"]) * epochs))
    if isinstance(subject, ModelCost):
        passes = epochs if "epochs" in values else subject.passes
        if not subject.samples:
            assumed.append("no number of samples given: one optimizer step")
        return max(1, round(subject.samples * passes)) if subject.samples else batch
    if "epochs" in values:
        assumed.append("epochs: not used, because neither samples nor tokens of an epoch are given")
    tokens = TOKENS_A_PARAMETER * parameters(subject).active
    assumed.append(f"no length given: {TOKENS_A_PARAMETER:g} tokens per parameter (Hoffmann et al., 2022)")
    return max(1, round(tokens / sequence))
