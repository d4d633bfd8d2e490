"""Tests of the rules for possible layouts: uneven pipelines, and sharding within a pipeline."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import replace

from flyball_planner.layouts.layout import Layouts, ParallelLayout
from flyball_planner.layouts.rules import allowed, refusals
from flyball_planner.layouts.stages import filling_slots, stage_layers
from flyball_planner.memory.pipeline_stages import anatomy, pipeline_stages
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
    """61 layers in 16 stages (DeepSeek-V3) leave 5 % idle, 75 layers 6 %, 50 layers 22 %; a user may choose all."""
    layouts = Layouts.of(SIXTEEN)
    few, many = replace(LLAMA, layers=61), replace(LLAMA, layers=50)
    assert allowed(replace(LLAMA, layers=75), TRAINING, layouts).all()
    assert allowed(few, TRAINING, layouts).all()
    assert not allowed(many, TRAINING, layouts).any()
    assert allowed(few, TRAINING, layouts, chosen=True).all()
    assert allowed(many, TRAINING, layouts, chosen=True).all()


def test_tensor_parallelism_across_nodes_must_be_chosen() -> None:
    """A search keeps tensor parallelism within a node; a user may choose 16 ranks over two nodes of eight."""
    wide = replace(SIXTEEN, tensor=16, pipeline=8)
    assert reasons(wide) == []
    assert reasons(wide, chosen=False) == ["tensor parallelism does not fit within a node"]


def test_uneven_stages_are_those_of_llama_3() -> None:
    """The first and last of 16 stages hold 7 of 126 layers, because they also hold embedding and output."""
    layouts = Layouts.of(SIXTEEN, replace(SIXTEEN, pipeline=8), replace(SIXTEEN, pipeline=7))
    first, middle, last = stage_layers(126, layouts)
    assert list(first) == [7, 15, 18]
    assert list(middle) == [8, 16, 18]
    assert list(last) == [7, 15, 18]


@pytest.mark.parametrize(
    ("layers", "stages", "chunks", "held"),
    [
        (61, 16, 1, (3, 4, 2)),  # NeMo's recipe of DeepSeek-V3
        (61, 16, 2, (3, 4, 2)),
        (62, 8, 4, (7, 8, 7)),
        (126, 16, 8, (7, 8, 7)),  # Llama 3: a first chunk without layers, and a last one
        (33, 2, 1, (17, 17, 16)),
        (5, 4, 1, (1, 2, 0)),
    ],
)
def test_uneven_stages_of_known_trainings(layers: int, stages: int, chunks: int, held: tuple[int, ...]) -> None:
    """The first, a middle and the last stage hold as many layers as those of published trainings."""
    layout = ParallelLayout(devices=stages, pipeline=stages, interleave=chunks)
    assert tuple(int(each[0]) for each in stage_layers(layers, Layouts.of(layout))) == held


@given(st.integers(1, 130), st.integers(1, 24), st.integers(1, 8))
def test_stages_are_those_of_a_count_part_by_part(layers: int, stages: int, chunks: int) -> None:
    """If layers, embedding and output are dealt to parts one by one, each stage gets what the formula states."""
    chunks = chunks if stages > 1 else 1
    assume(layers + 2 >= stages * chunks)
    least, extra = divmod(layers + 2, stages * chunks)
    parts = [least + (place < extra) for place in range(stages * chunks)]
    parts[0] -= 1
    parts[-1] -= 1
    if layers % (stages * chunks) == 0:
        parts = [layers // (stages * chunks)] * stages * chunks
    dealt = [sum(parts[stage::stages]) for stage in range(stages)]
    assert sum(dealt) == layers
    layout = ParallelLayout(devices=stages, pipeline=stages, interleave=chunks)
    first, middle, last = (int(each[0]) for each in stage_layers(layers, Layouts.of(layout)))
    assert (first, last) == (dealt[0], dealt[-1])
    assert stages < 3 or middle == max(dealt[1:-1])


@pytest.mark.parametrize(
    ("framework", "micro_batches", "possible"),
    [("megatron", 24, True), ("megatron", 12, False), ("pytorch", 24, True), ("pytorch", 120, False),
     ("pytorch", 32, True), ("deepspeed", 32, False)],
)  # fmt: skip
def test_interleaving_needs_what_each_framework_needs(framework: str, micro_batches: int, possible: bool) -> None:
    """Megatron takes any number from one for each stage on, PyTorch equal rounds, DeepSpeed has no interleaving."""
    training = replace(TRAINING, framework=framework, global_batch=micro_batches)
    layout = ParallelLayout(devices=8 * 16, tensor=8, pipeline=16, interleave=8)
    assert (reasons(layout, training) == []) is possible


def test_uneven_stages_hold_the_parameters_of_their_layers() -> None:
    """A middle stage of Llama 3 405B holds eight layers' parameters."""
    model, layouts = anatomy(LLAMA), Layouts.of(SIXTEEN)
    middle = pipeline_stages(model, layouts, layouts.micro_batches(2048))[1]
    assert float(middle.layers[0][0]) * model.counts[0].total == 8 * parameters(LLAMA).layer


@pytest.mark.parametrize(
    ("change", "micro_batches", "reason"),
    [
        ({}, 120, None),
        ({"interleave": 2}, 120, "use interleave: 1"),
        ({}, 30, "two micro-batches per stage"),
        ({}, 121, "an even number"),
        ({"pipeline": 9}, 120, "an even number of stages"),
    ],
)
def test_a_pipeline_of_both_directions_follows_dualpipes_rules(
    change: dict[str, int], micro_batches: int, reason: str | None
) -> None:
    """DualPipe needs an even number of stages, an even number of micro-batches, and two of them per stage."""
    layout = replace(SIXTEEN, bidirectional=True, devices=8 * 16 * 9, **change)
    broken = reasons(layout, replace(TRAINING, global_batch=micro_batches * layout.data))
    assert broken == [] if reason is None else any(reason in each for each in broken)
    own = replace(TRAINING, global_batch=micro_batches * layout.data, framework="deepspeed")
    assert any("one direction" in each for each in reasons(layout, own))


def test_both_directions_hold_two_stages_and_wait_less() -> None:
    """A rank has the layers of its stage and the opposite one, of which p + 1 micro-batches are stored, and idles a
    third of (p − 2) passes instead of p − 1 (DeepSeek-V3 report, table 2)."""
    layouts = Layouts.of(SIXTEEN, replace(SIXTEEN, bidirectional=True))
    stages = pipeline_stages(anatomy(LLAMA), layouts, layouts.micro_batches(2048))
    assert [each.layers[0].tolist() for each in stages] == [[7, 14], [8, 16], [7, 14]]
    assert [(each.entrance[1], each.exit[1]) for each in stages] == [(1, 1), (0, 0), (1, 1)]
    assert [each.in_flight[1] for each in stages] == [17 / 2] * 3
    assert filling_slots(layouts).tolist() == pytest.approx([15, 14 / 3])


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
    (reason,) = reasons(layout)
    assert reason.startswith("126 layers are too few for so many stages × chunks; use a smaller pipeline")


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
