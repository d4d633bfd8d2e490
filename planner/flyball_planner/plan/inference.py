"""Predictions by the trained model: the forward pass of one sample and of a batch, and generation by decoders."""

from collections.abc import Iterator

from msgspec.structs import replace

from flyball_planner.catalogue.hardware import DeviceKind
from flyball_planner.interval import Interval
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
from flyball_planner.specification.specification import InferenceChoice, Specification
from flyball_planner.timing.forward_pass import TokenTime, forward_seconds, token_seconds
from flyball_planner.training import Training

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
    training = judged.training
    batch = choice.batch_size or judged.layout.micro_batch
    alone = _pass_seconds(subject, judged, devices, 1)
    together = alone if batch == 1 else _pass_seconds(subject, judged, devices, batch)
    flops = subject.inference_flops if isinstance(subject, ModelCost) else forward_flops(subject, training.sequence)
    flops *= _longer_context(subject, training)
    return InferenceSection(
        devices=devices,
        flops_per_sample=flops,
        seconds_per_sample=alone,
        batch=batch,
        seconds_per_batch=together,
        samples_per_second=batch / together.middle,
        generation=_generation(subject, judged, devices, choice.batch_size or 1) if _generates(subject) else None,
    )


def beyond_positions(specification: Specification) -> Iterator[str]:
    """Yield a warning if samples or generation have more tokens than the model has learned positions."""
    subject, chosen = specification.subject, specification.inference
    known = subject.max_positions if isinstance(subject, TransformerShape) else 0
    context, trained = (chosen.context if chosen else None) or 0, specification.training.sequence
    if known and trained > known:
        yield (
            f"training.sequence: {specification.model} has {known:,} learned positions; with {trained:,} tokens it "
            "needs a longer table of them, which is not counted."
        )
    if known and context > known:
        yield (
            f"inference.context: {specification.model} has {known:,} learned positions, so it cannot process "
            f"{context:,} tokens; the estimate assumes as many positions."
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


def _pass_seconds(subject: Subject, judged: JudgedLayout, devices: int, samples: int) -> Interval:
    training, belief = judged.training, judged.context.learned.belief
    seconds = forward_seconds(subject, training, judged.machine, samples, devices, belief)
    return seconds.times(_longer_context(subject, training))


def _longer_context(subject: Subject, training: Training) -> float:
    """Return a context relative to a model's sample, with whose tokens the work of state-space layers grows."""
    return training.sequence / subject.tokens if isinstance(subject, ModelCost) and subject.tokens > 1 else 1.0


def _generates(subject: Subject) -> bool:
    if isinstance(subject, ModelCost):
        return subject.generation is not None
    return subject.kind is TransformerKind.DECODER and subject.head is Head.LANGUAGE_MODEL


def _generation(subject: Subject, judged: JudgedLayout, devices: int, sequences: int) -> GenerationSection:
    training, belief = judged.training, judged.context.learned.belief
    memory = _memory(subject, judged, devices, sequences)
    cache, weights = devices * memory.key_value_cache, devices * memory.weights
    read = _read(subject, weights, sequences) + cache
    found = token_seconds(subject, training, judged.machine, read, devices, belief, sequences)
    state = _state(subject, cache, training.sequence)
    if judged.machine.device.kind is DeviceKind.TPU:  # XLA compiles a whole step, so no host launches kernels
        found = TokenTime(found.engine, "memory bandwidth", found.engine)
    return GenerationSection(
        sequences=sequences,
        context_tokens=training.sequence,
        prefill_seconds=_pass_seconds(subject, judged, devices, sequences),
        seconds_per_token=found.seconds,
        tokens_per_second=sequences / found.seconds.middle,
        limited_by=found.limited_by,
        engine_seconds_per_token=None if found.engine == found.seconds else found.engine,
        weight_bytes=weights,
        key_value_cache_bytes=cache,
        key_value_cache_bytes_per_token=(cache - state) / (sequences * training.sequence),
        memory_bytes_per_device=memory.total,
        most_sequences=memory.most_requests,
    )


def _state(subject: Subject, cache: float, context: int) -> float:
    """Return the part of the cache that does not grow with the context: the state of state-space layers."""
    kept = subject.generation if isinstance(subject, ModelCost) else None
    if kept is None:
        return 0.0
    return cache * kept.state_numbers / (kept.state_numbers + kept.numbers_per_token * context)


def _read(subject: Subject, weights: float, sequences: int) -> float:
    """Return the bytes of weights that a step reads: of experts, at most as many as the sequences choose."""
    if isinstance(subject, ModelCost):
        return weights
    counts = parameters(subject)
    active = counts.active / counts.total
    return weights * min(1.0, active * sequences)


def _classical(cost: ModelCost, judged: JudgedLayout, choice: InferenceChoice) -> InferenceSection | None:
    if not cost.inference:
        return None
    device, cores = judged.machine.device, judged.machine.host_cores or 0
    batch = choice.batch_size or min(CLASSICAL_BATCH, cost.samples)
    alone, together = (prediction_seconds(cost, device, samples, cores=cores) for samples in (1, batch))
    return InferenceSection(1, cost.inference_flops, alone, batch, together, batch / together.middle)
