"""Tests of the memory of inference."""

import pytest

from flyball_planner.catalogue.devices import find_device
from flyball_planner.memory.inference import RequestBatch, Serving, inference_memory
from flyball_planner.memory.verdict import Fit
from flyball_planner.models.cost import ModelBlock, ModelCost
from flyball_planner.models.transformer.counts import parameters
from flyball_planner.models.transformer.named_shapes import named_shape
from flyball_planner.precision import PRECISIONS
from flyball_planner.quantisation import NF4

CARD = find_device("H100_80GB")
LLAMA = named_shape("llama-3.1-8b")
SERVING = Serving(LLAMA, PRECISIONS["bf16"])


def test_weights_and_cache_follow_from_the_shape() -> None:
    """Weights take two bytes each, and a token 2 × 32 layers × 8 heads × 128 × 2 bytes of keys and values."""
    memory = inference_memory(SERVING, CARD, RequestBatch(batch=4, context=8192))
    assert memory.weights == 2 * parameters(LLAMA).total
    assert memory.key_value_cache == 4 * 8192 * 131_072
    assert memory.total.middle == pytest.approx(
        memory.weights + memory.key_value_cache + memory.working + memory.outside
    )


def test_the_most_requests_surely_fit_and_one_more_does_not() -> None:
    """The stated number of requests fits surely; twice as many do not."""
    most = inference_memory(SERVING, CARD, RequestBatch(1, 8192)).most_requests
    assert inference_memory(SERVING, CARD, RequestBatch(most, 8192)).fit is Fit.YES
    assert inference_memory(SERVING, CARD, RequestBatch(most + 1, 8192)).fit is not Fit.YES
    assert inference_memory(SERVING, CARD, RequestBatch(3 * most, 8192)).fit is Fit.NO


def test_a_model_that_is_too_large_serves_nothing() -> None:
    """Llama 405B does not fit on one device; over 16 devices it does, and 4-bit weights need fewer."""
    large = named_shape("llama-3.1-405b")
    alone = inference_memory(Serving(large, PRECISIONS["bf16"]), CARD, RequestBatch())
    assert (alone.fit, alone.most_requests) == (Fit.NO, 0)
    assert inference_memory(Serving(large, PRECISIONS["bf16"], tensor=16), CARD, RequestBatch()).fit is Fit.YES
    assert inference_memory(Serving(large, PRECISIONS["bf16"], NF4, tensor=4), CARD, RequestBatch()).fit is Fit.YES


def test_a_sliding_window_limits_the_cache() -> None:
    """Mistral's window of 4,096 tokens holds the cache of any longer context."""
    mistral = Serving(named_shape("mistral-7b"), PRECISIONS["bf16"])
    near, far = (
        inference_memory(mistral, CARD, RequestBatch(1, context)).key_value_cache for context in (4096, 32_768)
    )
    assert near == far


def test_encoders_and_networks_cache_nothing() -> None:
    """BERT and a network of blocks have weights and one pass's memory only."""
    network = ModelCost("", "", "", 10**6, 0, 1.0, (ModelBlock("layer", 2, 10**6, (), 10**5, 10**4),))
    for subject in (named_shape("bert-large-uncased"), network):
        memory = inference_memory(Serving(subject, PRECISIONS["fp32"]), CARD, RequestBatch(8, 512))
        assert memory.key_value_cache == 0
        assert memory.working > 0
        assert memory.fit is Fit.YES
