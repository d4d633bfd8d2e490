"""The moments at which a transformer's training may need most memory, on each stage of its pipeline."""

from collections.abc import Iterator

import numpy as np
from msgspec.structs import replace

from flyball_planner.layouts.columns import Column, Layouts
from flyball_planner.memory.activations import layer_kept, logit_gradients, logits_kept
from flyball_planner.memory.adapters import layer_products
from flyball_planner.memory.constants import Constants
from flyball_planner.memory.phases import Phase
from flyball_planner.memory.pieces import Anatomy, Piece, anatomy, pieces
from flyball_planner.memory.states import Held, States, states
from flyball_planner.models.transformer.cost import sequence_tokens
from flyball_planner.models.transformer.lora import lora_parameters
from flyball_planner.models.transformer.shape import TransformerShape
from flyball_planner.precision import WIDTHS_BYTES
from flyball_planner.training import Lora, Method, Sharding, Training


def transformer_phases(
    shape: TransformerShape, training: Training, layouts: Layouts, constants: Constants
) -> Iterator[Phase]:
    """Every moment on every stage; the largest is the peak."""
    model = anatomy(shape)
    training = replace(training, sequence=sequence_tokens(shape, training.sequence))
    micro_batches = layouts.micro_batches(training.global_batch)
    for piece in pieces(model, layouts, micro_batches):
        held = _held(model, piece, training, layouts)
        kept = states(held, training, layouts, micro_batches, constants)
        yield from _moments(model, piece, kept, training, layouts, constants)


def _held(model: Anatomy, piece: Piece, training: Training, layouts: Layouts) -> Held:
    shape = model.shape
    dense = sum(held * each.dense for held, each in zip(piece.layers, model.counts, strict=True))
    experts = sum(held * each.experts for held, each in zip(piece.layers, model.counts, strict=True))
    ends = piece.entrance * model.entrance + piece.exit * (model.exit + piece.apart * model.shared)
    products = sum(held * (each.dense - each.norms) for held, each in zip(piece.layers, model.counts, strict=True))
    added = 0 if training.method is Method.FULL else lora_parameters(shape, training.lora or Lora())
    expert_share = np.where(layouts.expert > 1, layouts.expert, layouts.tensor)
    largest = np.max([each.dense / layouts.tensor + each.experts / expert_share for each in model.counts], axis=0)
    return Held(
        dense=(dense + ends) / layouts.tensor,
        experts=experts / expert_share,
        quantised=products / layouts.tensor + experts / expert_share,
        adapters=added * sum(piece.layers) / model.layers / layouts.tensor,
        largest_layer=largest,
        ends=ends / layouts.tensor,
        largest_matrix=_largest_matrix(model) / layouts.tensor,
    )


def _largest_matrix(model: Anatomy) -> float:
    inside = (each for group in model.groups for each in layer_products(model.shape, group).values())
    return max(model.shape.vocab * model.shape.hidden, *(each.entering * each.leaving for each in inside))


def _moments(
    model: Anatomy, piece: Piece, kept: States, training: Training, layouts: Layouts, constants: Constants
) -> list[Phase]:
    """The loss, the output product's backward pass, a layer's, the end of the backward pass, the optimizer's step."""
    layers = [layer_kept(model.shape, group, training, layouts, constants) for group in model.groups]
    held = sum(each.kept * count for each, count in zip(layers, piece.layers, strict=True))
    activations = constants.activations_factor * piece.in_flight * held
    working = np.max([each.working * (count > 0) for each, count in zip(layers, piece.layers, strict=True)], axis=0)
    logits = piece.exit * logits_kept(model.shape, training, layouts, constants)
    both = kept.gathered + kept.gathered_gradients
    whole = kept.gathered_gradients * (layouts.micro_batches(training.global_batch) > 1)
    first = kept.first_gradients
    output = np.maximum(first, np.minimum(kept.gradients, first + _output_gradient(model, piece, training, layouts)))
    always = {
        "weights": kept.weights,
        "optimizer_states": kept.optimizer,
        "communication_buffers": _buffers(kept, training, layouts, constants),
        "key_value_cache": _cache(model.shape, piece, training, layouts),
    }
    moments: dict[str, dict[str, Column]] = {
        "loss": {
            "gradients": first, "gathered_weights": kept.gathered + whole, "activations": activations, "logits": logits,
        },
        "output's backward pass": {
            "gradients": output, "gathered_weights": both, "activations": activations,
            "logits": np.minimum(logits, piece.exit * logit_gradients(model.shape, training, layouts)),
        },
        "a layer's backward pass": {
            "gradients": first, "gathered_weights": both, "activations": activations, "working": working,
        },
        "end of the backward pass": {"gradients": kept.gradients, "gathered_weights": both, "working": working},
        "optimizer's step": {"gradients": kept.gradients, "optimizer_step": kept.transient},
    }  # fmt: skip
    return [Phase(piece.name, moment, {**always, **parts}) for moment, parts in moments.items()]


def _output_gradient(model: Anatomy, piece: Piece, training: Training, layouts: Layouts) -> Column:
    """The largest gradient is the first: that of the projection to the vocabulary."""
    trained = training.method is Method.FULL
    width = WIDTHS_BYTES[training.precision.gradients] * trained
    return piece.exit * (width * model.shape.vocab * model.shape.hidden / layouts.tensor)


def _buffers(kept: States, training: Training, layouts: Layouts, constants: Constants) -> Column:
    """DeepSpeed's buckets; the copy of all gradients that plain data parallelism reduces (torch's DDP default)."""
    several = layouts.data > 1
    if training.framework == "deepspeed":
        return np.where(layouts.sharded(Sharding.ZERO1), constants.bucket_bytes, 0.0)
    copied = several & ~layouts.sharded(Sharding.ZERO1) & (training.framework == "pytorch")
    return np.where(copied, kept.gradients, 0.0)


def _cache(shape: TransformerShape, piece: Piece, training: Training, layouts: Layouts) -> Column:
    """Keys and values of the tokens that are kept for sampling."""
    width = WIDTHS_BYTES[training.precision.activations]
    return training.cached_tokens * sum(piece.layers) * cache_bytes_a_token(shape, width) / layouts.tensor


def cache_bytes_a_token(shape: TransformerShape, number_bytes: float) -> float:
    """Keys and values of one token in one layer; compressed ones where attention is latent."""
    if shape.latent:
        return number_bytes * (shape.latent.key_value_rank + shape.latent.rotary_dim)
    return 2 * number_bytes * shape.kv_heads * shape.head_dim
