"""Tests of the memory of trainings over frozen weights: formats in few bits, and additions of several kinds."""

import pytest
from msgspec.structs import replace

from flyball_planner.layouts.layout import Layouts, ParallelLayout
from flyball_planner.memory.estimate import estimate_memory
from flyball_planner.precision import PRECISIONS
from flyball_planner.quantisation import quantisation
from flyball_planner.training import Lora, Method
from tests.planner.memory.test_estimate import CARD, COUNT, SHAPE, TRAINING, parts


def test_activations_of_4_bit_products_depend_on_the_library() -> None:
    """If products over 4-bit weights hold no inputs, QLoRA keeps as much as LoRA; old bitsandbytes held each input."""
    qlora = replace(TRAINING, precision=PRECISIONS["bf16-pure"], method=Method.QLORA, lora=Lora(8, ("q", "v")))
    holding = replace(qlora, quantisation=quantisation("nf4", kept_inputs=1))
    adapters = replace(qlora, method=Method.LORA)
    kept = [parts(ParallelLayout(micro_batch=4), each)["activations"] for each in (holding, qlora, adapters)]
    inputs = 2 * (2 * SHAPE.hidden + SHAPE.ffn) * 4 * TRAINING.sequence * SHAPE.layers  # attention keeps its output
    assert kept[1] == pytest.approx(kept[2])
    assert kept[0] - kept[1] == pytest.approx(inputs)


@pytest.mark.parametrize(("name", "bits"), [("nf4", 4.127), ("nf4-plain", 4.5), ("int8", 8)])
def test_quantised_weights_take_their_bits_and_scales(name: str, bits: float) -> None:
    """Only the layers' products are quantised: embedding and output stay in 16 bits unless the output is named."""
    lora = replace(TRAINING, precision=PRECISIONS["bf16-pure"], method=Method.LORA, lora=Lora(8, ("q",)))
    plain, few, all_few = (
        parts(ParallelLayout(), replace(lora, quantisation=each))["weights"]
        for each in (None, quantisation(name), quantisation(name, output=True))
    )
    ends, norms = SHAPE.vocab * SHAPE.hidden, (2 * SHAPE.layers + 1) * SHAPE.hidden
    products = COUNT - 2 * ends - norms
    assert plain - few == pytest.approx(products * (2 - bits / 8))
    assert few - all_few == pytest.approx(ends * (2 - bits / 8))


def test_preparation_for_few_bits_widens_the_rest() -> None:
    """After prepare_model_for_kbit_training embeddings, norms and output are in fp32, and so are activations."""
    qlora = replace(TRAINING, precision=PRECISIONS["bf16-pure"], method=Method.QLORA, lora=Lora(8, ("q",)))
    wide = replace(qlora, quantisation=quantisation("nf4", wide_rest=True))
    narrow_parts, wide_parts = parts(ParallelLayout(), qlora), parts(ParallelLayout(), wide)
    assert wide_parts["weights"] - narrow_parts["weights"] > 2 * 2 * SHAPE.vocab * SHAPE.hidden
    assert wide_parts["activations"] > 1.7 * narrow_parts["activations"]


@pytest.mark.parametrize("method", [Method.DORA, Method.IA3, Method.PREFIX, Method.PROMPT, Method.BOTTLENECK])
def test_other_additions_need_less_than_training_everything(method: Method) -> None:
    """Every method over frozen weights has few optimizer states and keeps fewer activations than full training."""
    full = replace(TRAINING, precision=PRECISIONS["bf16-pure"])
    added, whole = parts(ParallelLayout(), replace(full, method=method, lora=Lora())), parts(ParallelLayout(), full)
    assert added.get("optimizer_states", 0.0) < 0.05 * whole["optimizer_states"]
    assert added["activations"] < whole["activations"]


def test_dora_keeps_the_outputs_of_its_targets() -> None:
    """The trained length of each column multiplies a target's outputs, so they are kept for its gradient."""
    lora = replace(TRAINING, precision=PRECISIONS["bf16-pure"], method=Method.LORA, lora=Lora(8, ("q", "v")))
    more = (
        parts(ParallelLayout(), replace(lora, method=Method.DORA))["activations"]
        - parts(ParallelLayout(), lora)["activations"]
    )
    outputs = SHAPE.hidden + SHAPE.kv_heads * SHAPE.head_dim
    assert more == pytest.approx(2 * 2 * outputs * TRAINING.sequence * SHAPE.layers)


def test_qlora_without_details_is_less_certain() -> None:
    """If only the method is known, the upper end covers fp32 embeddings and held inputs; the middle is the same."""
    qlora = replace(TRAINING, precision=PRECISIONS["bf16-pure"], method=Method.QLORA, lora=Lora(8, ("q", "v")))
    known = replace(qlora, quantisation=quantisation("nf4"))
    vague, exact = (
        estimate_memory(SHAPE, each, Layouts.of(ParallelLayout(micro_batch=2)), CARD) for each in (qlora, known)
    )
    assert vague.driver.middle[0] == exact.driver.middle[0]
    assert vague.driver.high[0] > exact.driver.high[0]
