"""The section `training`: what is said of batch, length, optimizer and precision, completed by what is usual."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from flyball_planner.catalogue.hardware import Device, DeviceKind
from flyball_planner.models.cost import ModelCost
from flyball_planner.models.transformer.counts import parameters
from flyball_planner.models.transformer.shape import TransformerShape
from flyball_planner.optimizers import find_optimizer
from flyball_planner.precision import PRECISIONS, Format
from flyball_planner.training import Attention, Lora, Method, Training
from flyball_reports.errors import InputError
from flyball_reports.specification.sections import Findings

TOKENS_A_PARAMETER = 20.0  # Hoffmann et al., 2022, table A3: compute-optimal
USUAL_BATCH = 32
USUAL_SEQUENCE = 2048
USUAL_OPTIMIZER = "adamw"

Subject = TransformerShape | ModelCost


class Completed(Struct, frozen=True):
    """A training and what had to be assumed for it."""

    training: Training
    assumptions: tuple[str, ...]


def complete(said: Mapping[str, Any], subject: Subject, device: Device, findings: Findings) -> Completed | None:
    """The whole training, or nothing where it has a fault, which is told."""
    assumed: list[str] = []
    sequence = _sequence(said, subject, assumed)
    batch = said.get("batch_size") or _usual_batch(subject, assumed)
    samples = _samples(said, subject, sequence, batch, findings, assumed)
    _refuse_idle_lora(said, findings)
    if isinstance(subject, ModelCost) and not subject.trained_by_gradient and "precision" in said:
        findings.add(
            "training.precision",
            "a classical model computes in its data's format: leave it out, or say model.precision",
        )
    try:
        optimizer = find_optimizer(said.get("optimizer", USUAL_OPTIMIZER))
    except InputError as error:
        findings.add("training.optimizer", str(error))
        return None
    if findings.problems:
        return None
    training = Training(
        sequence=sequence,
        global_batch=batch,
        optimizer=optimizer,
        precision=PRECISIONS[said.get("precision") or usual_precision(device)],
        method=said.get("method", Method.FULL),
        lora=_lora(said),
        attention=said.get("attention") or usual_attention(device),
        compiled=said.get("compiled", False),
        framework=said.get("framework", "pytorch"),
        fp32_gradients=said.get("fp32_gradients", False),
        fused_loss=said.get("fused_loss", False),
        samples=samples,
    )
    return Completed(training, tuple(assumed))


def usual_precision(device: Device) -> str:
    """What a profile is named for; else bf16 where the device has it, fp16 where it has matrix units for it."""
    if device.default_format is not None and device.default_format.value in PRECISIONS:
        return device.default_format.value
    if device.kind is DeviceKind.CPU:
        return "fp32"
    if device.native(Format.BF16):
        return "bf16"
    return "fp16" if device.native(Format.FP16) else "fp32"


def usual_attention(device: Device) -> Attention:
    """Fused kernels on every accelerator (FlashAttention, or torch's own); a processor writes the scores."""
    return Attention.MATERIALISED if device.kind is DeviceKind.CPU else Attention.FLASH


def _sequence(said: Mapping[str, Any], subject: Subject, assumed: list[str]) -> int:
    if isinstance(subject, ModelCost):
        return int(said.get("sequence", 1))
    if subject.patches:
        return subject.patches.tokens
    if "sequence" in said:
        return int(said["sequence"])
    sequence = min(subject.max_positions or USUAL_SEQUENCE, USUAL_SEQUENCE)
    assumed.append(f"no sequence length is given: {sequence} tokens")
    return sequence


def _usual_batch(subject: Subject, assumed: list[str]) -> int:
    if isinstance(subject, ModelCost) and (subject.batch or not subject.trained_by_gradient):
        return max(1, subject.batch)
    assumed.append(f"no batch size is given: {USUAL_BATCH} samples an optimizer step")
    return USUAL_BATCH


def _samples(
    said: Mapping[str, Any], subject: Subject, sequence: int, batch: int, findings: Findings, assumed: list[str]
) -> int:
    """Samples of the whole run, from whichever length is given."""
    lengths = [name for name in ("tokens", "steps", "samples") if name in said]
    if len(lengths) > 1:
        findings.add(f"training.{lengths[1]}", f"says the length a second time, beside {lengths[0]}; keep one")
    epochs = float(said.get("epochs", 1.0))
    if "tokens" in said:
        return max(1, round(float(said["tokens"]) * epochs / sequence))
    if "steps" in said:
        return int(said["steps"]) * batch
    if "samples" in said:
        return max(1, round(float(said["samples"]) * epochs))
    if isinstance(subject, ModelCost):
        passes = epochs if "epochs" in said else subject.passes
        if not subject.samples:
            assumed.append("no number of samples is given: one optimizer step")
        return max(1, round(subject.samples * passes)) if subject.samples else batch
    tokens = TOKENS_A_PARAMETER * parameters(subject).active
    assumed.append(f"no length is given: {TOKENS_A_PARAMETER:g} tokens a parameter (Hoffmann et al., 2022)")
    return max(1, round(tokens / sequence))


def _refuse_idle_lora(said: Mapping[str, Any], findings: Findings) -> None:
    if said.get("method", Method.FULL) is Method.FULL:
        for key in ("lora_rank", "lora_targets"):
            if key in said:
                findings.add(f"training.{key}", "says nothing without method: lora or qlora")


def _lora(said: Mapping[str, Any]) -> Lora | None:
    if said.get("method", Method.FULL) is Method.FULL:
        return None
    usual = Lora()
    return Lora(said.get("lora_rank", usual.rank), said.get("lora_targets", usual.targets))
