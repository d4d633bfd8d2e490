"""The moments at which a transformer's training may need most memory, on each stage of its pipeline."""

import numpy as np

from flyball_planner.layouts.columns import Column, Layouts
from flyball_planner.memory.activations import layer_kept, logits_kept
from flyball_planner.memory.adapters import adapter_parameters, widths
from flyball_planner.memory.constants import Constants
from flyball_planner.memory.phases import Phase, phase
from flyball_planner.memory.pieces import Anatomy, Piece, anatomy, pieces
from flyball_planner.memory.states import Held, States, states
from flyball_planner.models.transformer.shape import TransformerShape
from flyball_planner.precision import WIDTHS_BYTES
from flyball_planner.training import Lora, Method, Sharding, Training


def transformer_phases(
    shape: TransformerShape, training: Training, layouts: Layouts, constants: Constants
) -> list[Phase]:
    """Every moment on every stage; the largest is the peak."""
    model = anatomy(shape)
    micro_batches = layouts.micro_batches(training.global_batch)
    found = []
    for piece in pieces(model, layouts, micro_batches):
        held = _held(model, piece, training, layouts)
        kept = states(held, training, layouts, micro_batches, constants)
        found += _moments(model, piece, kept, training, layouts, constants)
    return found


def _held(model: Anatomy, piece: Piece, training: Training, layouts: Layouts) -> Held:
    shape = model.shape
    dense = sum(held * each.dense for held, each in zip(piece.layers, model.counts, strict=True))
    experts = sum(held * each.experts for held, each in zip(piece.layers, model.counts, strict=True))
    ends = piece.entrance * model.entrance + piece.exit * (model.exit + piece.apart * model.shared)
    products = sum(held * (each.total - each.norms) for held, each in zip(piece.layers, model.counts, strict=True))
    added = adapter_parameters(shape, training.lora or Lora()) if training.method is not Method.FULL else 0
    expert_share = np.where(layouts.expert > 1, layouts.expert, layouts.tensor)
    largest = max(each.dense / layouts.tensor + each.experts / expert_share for each in model.counts)
    return Held(
        dense=(dense + ends) / layouts.tensor,
        experts=experts / expert_share,
        quantised=products / layouts.tensor,
        adapters=added * sum(piece.layers) / layouts.tensor,
        largest_layer=largest,
        ends=ends / layouts.tensor,
        largest_matrix=max(shape.vocab * shape.hidden, *(a * b for a, b in widths(shape).values())) / layouts.tensor,
    )


def _moments(
    model: Anatomy, piece: Piece, kept: States, training: Training, layouts: Layouts, constants: Constants
) -> list[Phase]:
    """The loss, the first layer's backward pass after it, the end of the backward pass, and the optimizer's step."""
    layers = [layer_kept(model.shape, group, training, layouts, constants) for group in model.groups]
    held = sum(each.kept * count for each, count in zip(layers, piece.layers, strict=True))
    activations = constants.activations_factor * piece.in_flight * held
    working = np.max([each.working * (count > 0) for each, count in zip(layers, piece.layers, strict=True)], axis=0)
    logits = piece.exit * logits_kept(model.shape, training, layouts, constants)
    always = {
        "weights": kept.weights,
        "optimizer_states": kept.optimizer,
        "communication_buffers": _buffers(kept, training, layouts, constants),
        "key_value_cache": piece.in_flight * 0 + _cache(model.shape, piece, training, layouts),
    }
    size = len(layouts)
    gathered = kept.gathered
    both = gathered + kept.gathered_gradients
    whole = kept.gathered_gradients * (layouts.micro_batches(training.global_batch) > 1)
    return [
        phase(piece.name, "loss", size, **always, gradients=kept.first_gradients, gathered_weights=gathered + whole,
              activations=activations, logits=logits),
        phase(piece.name, "backward", size, **always, gradients=kept.first_gradients, gathered_weights=both,
              activations=activations, working=working),
        phase(piece.name, "end of backward", size, **always, gradients=kept.gradients, gathered_weights=both,
              working=working),
        phase(piece.name, "optimizer step", size, **always, gradients=kept.gradients, optimizer_step=kept.transient),
    ]  # fmt: skip


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
