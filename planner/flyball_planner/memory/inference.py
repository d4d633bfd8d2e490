"""The memory of inference: weights, keys and values of the context, and what one pass needs; nothing is trained."""

import numpy as np
from msgspec import Struct

from flyball_planner.catalogue.hardware import ComputeDevice
from flyball_planner.interval import Interval
from flyball_planner.layouts.layout import Layouts, ParallelLayout
from flyball_planner.memory.activations import WORDS
from flyball_planner.memory.adapters import dequantised_numbers, layer_products
from flyball_planner.memory.autocast import WEIGHT_COPY_BYTES
from flyball_planner.memory.constants import CONSTANTS, Constants
from flyball_planner.memory.estimate import Subject, outside_bytes, usable_bytes
from flyball_planner.memory.transformer import cache_bytes_per_token
from flyball_planner.memory.verdict import Fit
from flyball_planner.models.cost import ModelCost
from flyball_planner.models.transformer.cost import sequence_tokens
from flyball_planner.models.transformer.counts import parameters
from flyball_planner.models.transformer.layers import layer_groups
from flyball_planner.models.transformer.shape import TransformerKind, TransformerShape
from flyball_planner.precision import WIDTHS_BYTES, Precision
from flyball_planner.quantisation import Quantisation

BELOW, ABOVE = 0.05, 0.15  # of the tensors: the cache is reserved in blocks, and frameworks copy logits
OUTSIDE = 0.5  # of contexts and libraries, to both sides
STREAM_COPIES = 2  # of the residual stream: the sum, and the norm of it
LOGIT_BYTES = 4.0  # of the last position, which is sampled in fp32


class RequestBatch(Struct, frozen=True):
    """RequestBatch that are answered at once, and the tokens of each with its answer."""

    batch: int = 1
    context: int = 2048
    prefill: int = 0  # tokens of a request that are processed in one pass; 0: all


class InferenceMemory(Struct, frozen=True):
    """Bytes on one device while it answers a batch of requests."""

    weights: float
    key_value_cache: float  # of all requests at their full context; 0 for models that generate nothing
    working: float  # of one pass
    outside: float  # the device's context and libraries
    total: Interval
    usable: float
    fit: Fit
    most_requests: int  # that surely fit at once at this context; 0: not even one


class Serving(Struct, frozen=True):
    """A model as it is served."""

    subject: Subject
    precision: Precision
    quantised: Quantisation | None = None
    tensor: int = 1  # devices that share each matrix

    @property
    def width(self) -> float:
        """Return the bytes of a weight or activation; autocast serves in 16 bits."""
        return 2.0 if self.precision.autocast else WIDTHS_BYTES[self.precision.activations]


def inference_memory(
    serving: Serving, device: ComputeDevice, requests: RequestBatch, constants: Constants = CONSTANTS
) -> InferenceMemory:
    """Return the memory of a device; with `tensor` above 1, of each of them."""
    layouts = Layouts.of(ParallelLayout(devices=serving.tensor, tensor=serving.tensor))
    outside = float(sum(np.sum(each) for each in outside_bytes(layouts, device, constants).values()))
    weights = _weights(serving)
    cache, working = _cache(serving, requests), _working(serving, requests)
    held = weights + requests.batch * (cache + working) + _dequantised(serving)
    total = Interval.around(held, BELOW, ABOVE) + Interval.around(outside, OUTSIDE, OUTSIDE)
    usable = usable_bytes(device, constants)
    room = (usable - (1 + OUTSIDE) * outside) / (1 + ABOVE) - weights - _dequantised(serving)
    return InferenceMemory(
        weights=weights,
        key_value_cache=requests.batch * cache,
        working=requests.batch * working + _dequantised(serving),
        outside=outside,
        total=total,
        usable=usable,
        fit=_fit(total, usable),
        most_requests=max(0, int(room / (cache + working))),
    )


def _fit(total: Interval, usable: float) -> Fit:
    if total.high <= usable:
        return Fit.YES
    return Fit.NO if total.low > usable else Fit.UNCERTAIN


def _weights(serving: Serving) -> float:
    subject, few = serving.subject, serving.quantised
    if isinstance(subject, ModelCost):
        return subject.parameters * serving.width
    counts = parameters(subject)
    if few is None:
        return counts.total * serving.width / serving.tensor
    products = sum(each.repeats * (each.total - each.norms) for each in counts.layers)
    output = 0 if subject.tied or not few.output else counts.output
    rest = 4.0 if few.wide_rest else serving.width
    quantised = products + output
    return (few.weight_bytes * quantised + rest * (counts.total - quantised)) / serving.tensor


def _cache(serving: Serving, requests: RequestBatch) -> float:
    """Return the keys and values of one request; an encoder keeps none, a sliding window keeps its width."""
    shape = serving.subject
    if isinstance(shape, ModelCost):
        kept = shape.generation
        return serving.width * (kept.state_numbers + kept.numbers_per_token * requests.context) if kept else 0.0
    if shape.kind not in {TransformerKind.DECODER, TransformerKind.ENCODER_DECODER}:
        return 0.0
    layers = shape.decoder_layers or shape.layers
    near = min(requests.context, shape.sliding_window or requests.context)
    full = 1 / shape.full_attention_every if shape.full_attention_every else float(not shape.sliding_window)
    tokens = full * requests.context + (1 - full) * near
    shared = min(serving.tensor, shape.kv_heads)  # a head is the least that a device holds
    return layers * tokens * cache_bytes_per_token(shape, serving.width) / shared


def _working(serving: Serving, requests: RequestBatch) -> float:
    """Return what one request needs in a pass: its stream, the widest product of a layer, and logits."""
    shape, width = serving.subject, serving.width
    if isinstance(shape, ModelCost):
        each = max((block.boundary_elements or block.kept_elements for block in shape.blocks), default=0.0)
        return 2 * each * width
    tokens = sequence_tokens(shape, min(requests.prefill or requests.context, requests.context))
    widest = max(_widest(shape) / serving.tensor, 1.0)
    logits = LOGIT_BYTES * shape.vocab if shape.head in WORDS else 0.0
    return tokens * width * (STREAM_COPIES * shape.hidden + widest) + logits


def _widest(shape: TransformerShape) -> float:
    """Return the numbers of the widest product's two sides per token; a gated block computes two at once."""
    sides = 2 if shape.gated else 1
    return max(
        (sides if name == "up" else 1) * each.leaving * each.times + each.entering
        for group in layer_groups(shape)
        for name, each in layer_products(shape, group).items()
    )


def _dequantised(serving: Serving) -> float:
    """Return the largest matrix in 16 bits, while its product is computed from few bits."""
    shape = serving.subject
    if serving.quantised is None or isinstance(shape, ModelCost):
        return 0.0
    largest = max(dequantised_numbers(shape, group) for group in layer_groups(shape))
    return WEIGHT_COPY_BYTES * largest / serving.tensor
