"""Predictions by the trained model: the forward pass of one sample and of a batch, and generation by decoders."""

from msgspec.structs import replace

from flyball_planner.layouts.layout import Layouts, ParallelLayout
from flyball_planner.layouts.rules import allowed
from flyball_planner.memory.inference import InferenceMemory, RequestBatch, Serving, inference_memory
from flyball_planner.models.classical_time import prediction_seconds
from flyball_planner.models.cost import ModelCost
from flyball_planner.models.transformer.counts import parameters
from flyball_planner.models.transformer.flops import forward_flops
from flyball_planner.models.transformer.shape import Head, TransformerKind, TransformerShape
from flyball_planner.plan.judged_layout import JudgedLayout
from flyball_planner.plan.plan import GenerationSection, InferenceSection
from flyball_planner.plan.subject import Subject, trained_by_gradient
from flyball_planner.specification.specification import InferenceChoice
from flyball_planner.timing.forward_pass import forward_seconds, token_seconds

MOST_DEVICES = 8  # that hold one copy of a model for inference: those of a node
CLASSICAL_BATCH = 1000  # samples that a classical model predicts together


def inference(subject: Subject, judged: JudgedLayout, chosen: InferenceChoice | None = None) -> InferenceSection | None:
    """Return the section on inference, on the fewest devices of a node that hold the model.

    Without a choice, samples are as in the training: as long, and as many together as in a micro-batch.
    """
    choice = chosen or InferenceChoice()
    if isinstance(subject, ModelCost) and not trained_by_gradient(subject):
        return _classical(subject, judged, choice)
    if choice.context:
        judged = replace(judged, training=replace(judged.training, sequence=choice.context))
    devices = _devices(subject, judged, choice.batch_size or 1)
    if devices is None:
        return None
    training, machine = judged.training, judged.machine
    batch = choice.batch_size or judged.layout.micro_batch
    belief = judged.context.learned.belief
    alone = forward_seconds(subject, training, machine, 1, devices, belief)
    together = alone if batch == 1 else forward_seconds(subject, training, machine, batch, devices, belief)
    shape = subject if isinstance(subject, TransformerShape) else None
    flops = subject.inference_flops if isinstance(subject, ModelCost) else forward_flops(subject, training.sequence)
    return InferenceSection(
        devices=devices,
        flops_per_sample=flops,
        seconds_per_sample=alone,
        batch=batch,
        seconds_per_batch=together,
        samples_per_second=batch / together.middle,
        generation=_generation(shape, judged, devices, choice.batch_size or 1) if shape else None,
    )


def _memory(subject: Subject, judged: JudgedLayout, devices: int, sequences: int) -> InferenceMemory:
    training = judged.training
    serving = Serving(subject, training.precision, training.frozen_format, devices)
    requests = RequestBatch(sequences, training.sequence)
    return inference_memory(serving, judged.machine.device, requests, judged.context.learned.constants)


def _devices(subject: Subject, judged: JudgedLayout, sequences: int) -> int | None:
    """Return the smallest power of two of devices that hold the model; tensor parallelism must be possible."""
    node, devices = judged.machine.devices_a_node, 1
    alone = replace(judged.training, global_batch=1)
    while devices <= min(MOST_DEVICES, node):
        layouts = Layouts.of(ParallelLayout(devices, node, devices))
        if allowed(subject, alone, layouts).all():
            found = _memory(subject, judged, devices, sequences)
            if found.total.middle <= found.usable:
                return devices
        devices *= 2
    return None


def _generation(
    shape: TransformerShape, judged: JudgedLayout, devices: int, sequences: int
) -> GenerationSection | None:
    if shape.kind is not TransformerKind.DECODER or shape.head is not Head.LANGUAGE_MODEL:
        return None
    training, belief = judged.training, judged.context.learned.belief
    memory = _memory(shape, judged, devices, sequences)
    cache, weights = devices * memory.key_value_cache, devices * memory.weights
    found = token_seconds(shape, training, judged.machine, _read(shape, weights, sequences) + cache, devices, belief)
    return GenerationSection(
        sequences=sequences,
        context_tokens=training.sequence,
        prefill_seconds=forward_seconds(shape, training, judged.machine, sequences, devices, belief),
        seconds_per_token=found.seconds,
        tokens_per_second=sequences / found.seconds.middle,
        limited_by=found.limited_by,
        weight_bytes=weights,
        key_value_cache_bytes=cache,
        key_value_cache_bytes_per_token=cache / (sequences * training.sequence),
        memory_bytes_per_device=memory.total,
        most_sequences=memory.most_requests,
    )


def _read(shape: TransformerShape, weights: float, sequences: int) -> float:
    """Return the bytes of weights that a step reads: of experts, at most as many as the sequences choose."""
    active = parameters(shape).active / parameters(shape).total
    return weights * min(1.0, active * sequences)


def _classical(cost: ModelCost, judged: JudgedLayout, choice: InferenceChoice) -> InferenceSection | None:
    if not cost.inference:
        return None
    device, cores = judged.machine.device, judged.machine.host_cores or 0
    batch = choice.batch_size or min(CLASSICAL_BATCH, cost.samples)
    alone, together = (prediction_seconds(cost, device, samples, cores=cores) for samples in (1, batch))
    return InferenceSection(1, cost.inference_flops, alone, batch, together, batch / together.middle)
