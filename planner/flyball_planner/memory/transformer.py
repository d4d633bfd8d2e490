"""The moments at which a transformer's training may reach its peak, on each stage of the pipeline."""

from collections.abc import Iterator

import numpy as np
from msgspec.structs import replace

from flyball_planner.layouts.layout import Column, Layouts
from flyball_planner.memory.activations import WORDS, dequantised_output, layer_kept, logit_gradients, logits_kept
from flyball_planner.memory.adapters import layer_products
from flyball_planner.memory.autocast import CastWeights, weight_copies
from flyball_planner.memory.constants import Constants
from flyball_planner.memory.model_states import HeldParameters, ModelStates, states
from flyball_planner.memory.pipeline_stages import Anatomy, PipelineStage, anatomy, pipeline_stages
from flyball_planner.memory.step_moments import StepMoment
from flyball_planner.models.transformer.added_weights import added_parameters
from flyball_planner.models.transformer.cost import sequence_tokens
from flyball_planner.models.transformer.shape import TransformerShape
from flyball_planner.precision import WIDTHS_BYTES
from flyball_planner.training import Method, Sharding, Training


def transformer_moments(
    shape: TransformerShape, training: Training, layouts: Layouts, constants: Constants
) -> Iterator[StepMoment]:
    """Yield every moment on every stage."""
    model = anatomy(shape)
    training = _as_the_layers_see_it(shape, training)
    micro_batches = layouts.micro_batches(training.global_batch)
    for stage in pipeline_stages(model, layouts, micro_batches):
        held = _held(model, stage, training, layouts)
        kept = states(held, training, layouts, micro_batches)
        yield from _moments(model, stage, held, kept, training, layouts, constants)


def _as_the_layers_see_it(shape: TransformerShape, training: Training) -> Training:
    """Return the training with the tokens of a sample, and with an output layer in 16 bits if it is the embedding."""
    virtual = training.virtual_tokens if training.method is Method.PROMPT else 0
    few = training.frozen_format
    if few and few.output and shape.tied:
        training = replace(training, quantisation=replace(few, output=False))
    return replace(training, sequence=sequence_tokens(shape, training.sequence) + virtual)


def _held(model: Anatomy, stage: PipelineStage, training: Training, layouts: Layouts) -> HeldParameters:
    shape = model.shape
    dense = sum(held * each.dense for held, each in zip(stage.layers, model.counts, strict=True))
    experts = sum(held * each.experts for held, each in zip(stage.layers, model.counts, strict=True))
    ends = stage.entrance * model.entrance + stage.exit * (model.exit + stage.split * model.shared)
    products = sum(held * (each.dense - each.norms) for held, each in zip(stage.layers, model.counts, strict=True))
    expert_share = np.where(layouts.expert > 1, layouts.expert, layouts.tensor)
    largest = np.max([each.dense / layouts.tensor + each.experts / expert_share for each in model.counts], axis=0)
    return HeldParameters(
        dense=(dense + ends) / layouts.tensor,
        experts=experts / expert_share,
        quantised=products / layouts.tensor + experts / expert_share,
        adapters=added_parameters(shape, training) * sum(stage.layers) / model.layers / layouts.tensor,
        largest_layer=largest,
        ends=ends / layouts.tensor,
        largest_matrix=_largest_matrix(model) / layouts.tensor,
        output_matrix=stage.exit * _output_matrix(model) / layouts.tensor,
    )


def _largest_matrix(model: Anatomy) -> float:
    inside = (each for group in model.groups for each in layer_products(model.shape, group).values())
    return max(model.shape.vocab * model.shape.hidden, *(each.entering * each.leaving for each in inside))


def _output_matrix(model: Anatomy) -> float:
    """Return the weights of the product that computes logits."""
    return model.shape.vocab * (model.shape.embedding_dim or model.shape.hidden) * (model.shape.head in WORDS)


def _moments(
    model: Anatomy,
    stage: PipelineStage,
    held: HeldParameters,
    kept: ModelStates,
    training: Training,
    layouts: Layouts,
    constants: Constants,
) -> list[StepMoment]:
    """Return the moments: loss, output projection, a layer's backward pass, the pass's end, and the optimizer's
    step."""
    layers = [layer_kept(model.shape, group, training, layouts, constants) for group in model.groups]
    stored = sum(each.kept * count for each, count in zip(layers, stage.layers, strict=True))
    activations = constants.activations_factor * stage.in_flight * stored
    working = np.max([each.working * (count > 0) for each, count in zip(layers, stage.layers, strict=True)], axis=0)
    logits = stage.exit * logits_kept(model.shape, training, layouts, constants)
    cast = CastWeights(held.quantised, held.output_matrix, held.largest_layer)
    copies, fewer = weight_copies(training, layouts, cast)
    both = kept.gathered + kept.gathered_gradients
    all_gradients = kept.gathered_gradients * (layouts.micro_batches(training.global_batch) > 1)
    first = kept.first_gradients
    output = np.maximum(first, np.minimum(kept.gradients, first + _output_gradient(model, stage, training, layouts)))
    always = {
        "weights": kept.weights,
        "optimizer_states": kept.optimizer,
        "communication_buffers": _buffers(kept, training, layouts, constants),
        "key_value_cache": _cache(model.shape, stage, training, layouts),
    }
    moments: dict[str, dict[str, Column]] = {
        "loss": {
            "gradients": first, "gathered_weights": kept.gathered + all_gradients, "activations": activations,
            "logits": logits, "cast_weights": copies,
        },
        "output's backward pass": {
            "gradients": output, "gathered_weights": both, "activations": activations,
            "logits": np.minimum(logits, stage.exit * logit_gradients(model.shape, training, layouts)),
            "working": stage.exit * dequantised_output(model.shape, training, layouts), "cast_weights": fewer,
        },
        "a layer's backward pass": {
            "gradients": first, "gathered_weights": both, "activations": activations, "working": working,
            "cast_weights": fewer,
        },
        "end of the backward pass": {"gradients": kept.gradients, "gathered_weights": both, "working": working},
        "optimizer's step": {"gradients": kept.gradients, "optimizer_step": kept.transient},
    }  # fmt: skip
    return [StepMoment(stage.name, moment, {**always, **parts}) for moment, parts in moments.items()]


def _output_gradient(model: Anatomy, stage: PipelineStage, training: Training, layouts: Layouts) -> Column:
    """Return the first gradient, which is the largest: that of the output projection."""
    trained = training.method is Method.FULL
    width = WIDTHS_BYTES[training.precision.gradients] * trained
    return stage.exit * (width * model.shape.vocab * model.shape.hidden / layouts.tensor)


def _buffers(kept: ModelStates, training: Training, layouts: Layouts, constants: Constants) -> Column:
    """Return DeepSpeed's buckets, or the copy of all gradients that plain data parallelism reduces (torch's DDP)."""
    several = layouts.data > 1
    if training.framework == "deepspeed":
        return np.where(layouts.sharded(Sharding.ZERO1), constants.bucket_bytes, 0.0)
    copied = several & ~layouts.sharded(Sharding.ZERO1) & (training.framework == "pytorch")
    return np.where(copied, kept.gradients, 0.0)


def _cache(shape: TransformerShape, stage: PipelineStage, training: Training, layouts: Layouts) -> Column:
    """Return the keys and values of the tokens that are kept for sampling."""
    width = WIDTHS_BYTES[training.precision.activations]
    return training.cached_tokens * sum(stage.layers) * cache_bytes_per_token(shape, width) / layouts.tensor


def cache_bytes_per_token(shape: TransformerShape, number_bytes: float) -> float:
    """Return the bytes of one token's keys and values in one layer; latent attention compresses them."""
    if shape.latent:
        return number_bytes * (shape.latent.key_value_rank + shape.latent.rotary_dim)
    return 2 * number_bytes * shape.kv_heads * shape.head_dim
