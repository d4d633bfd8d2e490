"""Tests of judging parameter counts with a table."""

from pathlib import Path

import pytest

from flyball_planner.accuracy.parameters import METRIC, MULTIPLICATIONS, judge_parameters, printed
from flyball_planner.accuracy.result import Judgement, Unsuited
from flyball_planner.accuracy.tables import read_tables

HEADER = (
    "model,arch,n_layers,d_model,n_heads,n_kv_heads,head_dim,d_ff,vocab,max_pos,tied_embeddings,extra,params,params_kind,"
    "fwd_gmacs_per_sample,input"
)
ROWS = (
    "gpt2,decoder,12,768,12,12,,3072,50257,1024,True,GPT2LMHeadModel,124439808,exact: counted,,",
    "opt-125m,decoder,12,768,12,12,,3072,50272,2050,True,OPTForCausalLM,125239296,exact: counted,,",
    "Mixtral-8x7B,moe,32,4096,32,8,,14336,32000,,,MixtralForCausalLM experts=8 top_k=2,46702792704,exact: counted,,",
    "falcon-40b,decoder,60,8192,128,8,,32768,65024,,True,FalconForCausalLM,41303293952,exact: counted,,",
    "bert,encoder,12,768,12,12,,3072,30522,512,True,BertModel type_vocab=2,109482240,exact: counted,,",
    "meta-llama/Llama-3.1-8B,decoder,,,,,,,,,,,8030261248,exact: counted by its publisher,,",
    "tiiuae/falcon-40b,decoder,,,,,,,,,,untied lm_head: 41303293952 + 65024x8192,41835970560,exact: its weights' sum,,",
    "Megatron-GPT 3.6B,decoder,30,3072,,,,12288,51200,2048,True,,3600000000.0,published 1 decimal in billions,,",
    "torchvision/ViT_B_16,vit,,,,,,,,,,,86567656,exact: published,17.564,3x224x224",
    "BERT-large SQuAD,encoder,,,,,,,,,,,335150082,exact: logged,,",
    "A 175B,decoder,96,12288,96,,,49152,,,,,175000000000.0,nominal,,",
    "nobody's,decoder,,,,,,,,,,,1000,exact: counted,,",
)


@pytest.fixture
def findings(tmp_path: Path) -> Judgement:
    """Return the judgement of a table of known counts, all published or taken from an instance."""
    (tmp_path / "params.csv").write_text("\n".join((HEADER, *ROWS)) + "\n")
    return judge_parameters(read_tables(tmp_path))


def test_known_counts_are_predicted_exactly(findings: Judgement) -> None:
    """Every row that identifies its model is predicted to the printed digits."""
    counts = next(each for each in findings.results if each.metric == METRIC)
    assert (counts.eligible, counts.predicted, counts.median_ape, counts.mean_ape) == (10, 10, 0.0, 0.0)
    assert counts.details["to_the_printed_digits"] == 10


def test_unusable_rows_are_ineligible(findings: Judgement) -> None:
    """A row with a nominal count or an unknown model is ineligible, with the reason."""
    reasons = {each.id: each.reason for each in findings.ineligible if each.metric == METRIC}
    assert "nominal" in reasons["line 12"]
    assert "not a known model" in reasons["line 13"]


def test_multiplications_of_image_models_are_predicted(findings: Judgement) -> None:
    """The multiplications of a vision transformer match the published figure to its digits."""
    found = next(each for each in findings.results if each.metric == MULTIPLICATIONS)
    assert found.predicted == 1
    assert found.median_ape == pytest.approx(0.0, abs=1e-4)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("exact: counted", 1_234_567_890),
        ("published, 1 decimal in billions", 1.2e9),
        ("published, 2 decimals in billions", 1.23e9),
        ("rounded to 10k (published in M)", 1_234_570_000),
    ],
)
def test_a_count_is_rounded_like_its_source(kind: str, expected: float) -> None:
    """A predicted count is rounded to the digits that its source prints."""
    assert printed(1_234_567_890, kind) == pytest.approx(expected, rel=1e-12)


def test_a_nominal_count_is_unsuited() -> None:
    """A nominal size such as 175B is not a count."""
    with pytest.raises(Unsuited, match="nominal"):
        printed(1, "nominal")
