"""Tests of the rules for possible layouts: uneven pipelines, and sharding within a pipeline."""

import pytest
from msgspec.structs import replace

from flyball_planner.layouts.layout import Layouts, ParallelLayout
from flyball_planner.layouts.rules import allowed, refusals
from flyball_planner.memory.pipeline_stages import anatomy, pipeline_stages, stage_layers
from flyball_planner.models.transformer.counts import parameters
from flyball_planner.models.transformer.named_shapes import named_shape
from flyball_planner.optimizers import find_optimizer
from flyball_planner.training import Sharding, Training

LLAMA = named_shape("llama-3.1-405b")
TRAINING = Training(8192, 2048, find_optimizer("adamw"), framework="megatron")
SIXTEEN = ParallelLayout(devices=16 * 8 * 16, tensor=8, pipeline=16, sharding=Sharding.ZERO1)


def reasons(layout: ParallelLayout, training: Training = TRAINING, *, chosen: bool = True) -> list[str]:
    """Return the rules that a layout breaks."""
    found = refusals(LLAMA, training, Layouts.of(layout), chosen=chosen)
    return [each.reason for each in found if each.broken.any()]


def test_126_layers_in_16_stages_are_possible() -> None:
    """Llama 3 405B has 126 layers in 16 stages: embedding and output count as a layer each, so a search proposes it."""
    assert reasons(SIXTEEN) == []
    assert reasons(SIXTEEN, chosen=False) == []
    assert allowed(LLAMA, TRAINING, Layouts.of(SIXTEEN)).all()


def test_a_search_proposes_uneven_stages_that_hardly_wait() -> None:
    """61 layers in 16 stages (DeepSeek-V3) leave 5 % idle, 100 layers 11 %; a user may choose both."""
    layouts = Layouts.of(SIXTEEN)
    few, many = replace(LLAMA, layers=61), replace(LLAMA, layers=100)
    assert allowed(few, TRAINING, layouts).all()
    assert not allowed(many, TRAINING, layouts).any()
    assert allowed(few, TRAINING, layouts, chosen=True).all()
    assert allowed(many, TRAINING, layouts, chosen=True).all()


def test_uneven_stages_are_those_of_llama_3() -> None:
    """The first and last of 16 stages hold 7 of 126 layers, because they also hold embedding and output."""
    layouts = Layouts.of(SIXTEEN, replace(SIXTEEN, pipeline=8), replace(SIXTEEN, pipeline=7))
    first, middle, last = stage_layers(126, layouts)
    assert list(first) == [7, 15, 18]
    assert list(middle) == [8, 16, 18]
    assert list(last) == [7, 15, 18]


@pytest.mark.parametrize(("layers", "stages"), [(33, 2), (31, 4), (30, 4), (61, 16), (126, 16)])
def test_uneven_stages_hold_all_layers(layers: int, stages: int) -> None:
    """First, middle and last stages together hold at least all layers, and none holds two more than another."""
    first, middle, last = (
        float(each[0]) for each in stage_layers(layers, Layouts.of(ParallelLayout(devices=stages, pipeline=stages)))
    )
    assert first + last + (stages - 2) * middle >= layers
    assert max(first, middle, last) - min(first, middle, last) <= 2


def test_uneven_stages_hold_the_parameters_of_their_layers() -> None:
    """A middle stage of Llama 3 405B holds eight layers' parameters."""
    model, layouts = anatomy(LLAMA), Layouts.of(SIXTEEN)
    middle = pipeline_stages(model, layouts, layouts.micro_batches(2048))[1]
    assert float(middle.layers[0][0]) * model.counts[0].total == 8 * parameters(LLAMA).layer


@pytest.mark.parametrize("chosen", [True, False])
def test_each_expert_has_as_many_copies_as_the_others(chosen: bool) -> None:
    """Eight groups of experts on twelve ranks would leave half of the experts with two copies and half with one."""
    experts = named_shape("mixtral-8x7b")
    training = Training(4096, 240, find_optimizer("adamw"))
    twelve = ParallelLayout(devices=12, devices_a_node=4)
    for expert, possible in ((4, True), (8, False)):
        layouts = Layouts.of(replace(twelve, expert=expert))
        assert allowed(experts, training, layouts, chosen=chosen).all() == possible
    with_tensor = Layouts.of(ParallelLayout(devices=24, tensor=2, expert=8))
    assert allowed(experts, training, with_tensor, chosen=chosen).all()


def test_a_model_without_experts_is_named_as_such() -> None:
    """The message does not count one expert where there is none."""
    assert reasons(replace(SIXTEEN, expert=2)) == ["the model has no experts"]


def test_more_stages_than_layers_are_refused() -> None:
    """A stage without a layer is not possible."""
    layout = ParallelLayout(devices=8 * 128, tensor=8, pipeline=128)
    assert "126 layers cannot fill stages × chunks" in reasons(layout)


@pytest.mark.parametrize("stage", [Sharding.ZERO2, Sharding.ZERO3])
@pytest.mark.parametrize(
    ("framework", "words"),
    [("deepspeed", "DeepSpeed's pipeline engine"), ("megatron", "Megatron's distributed optimizer")],
)
def test_frameworks_without_sharded_pipelines_name_their_reason(stage: Sharding, framework: str, words: str) -> None:
    """DeepSpeed and Megatron do not shard gradients or weights in a pipeline, and the reason names the framework."""
    found = reasons(replace(SIXTEEN, sharding=stage), replace(TRAINING, framework=framework))
    assert [each for each in found if each.startswith(words)]
    assert all("zero1" in each for each in found)


@pytest.mark.parametrize("stage", [Sharding.ZERO2, Sharding.ZERO3])
def test_pytorch_shards_within_a_pipeline_if_chosen(stage: Sharding) -> None:
    """FSDP2 runs in a pipeline; a search does not propose it."""
    training, layout = replace(TRAINING, framework="pytorch"), replace(SIXTEEN, sharding=stage)
    assert reasons(layout, training) == []
    assert reasons(layout, training, chosen=False)
