"""Tests of the conversion of measured speeds to FLOP/s and utilisation."""

from pathlib import Path

import pytest

from flyball_planner.accuracy.conversions import judge_conversions
from flyball_planner.accuracy.tables import read_tables

HEADER = (
    "id,suite,model,arch,params,n_layers,hidden,heads,kv_heads,ffn,vocab,seq_len_or_input,gpu,n_gpus,global_batch,"
    "framework,step_time_s,samples_per_s,tokens_per_s_per_gpu,tflops_per_gpu,mfu_pct,notes,precision"
)
ROWS = {
    # llm-foundry, scripts/train/benchmarking/README.md
    "mosaic": (
        "MPT-70b,decoder,64862437376,80,8192,64,64,32768,50368,2048,a100_80gb,64,2048,llm-foundry,"
        ",12.8291,410,166,53.33,"
    ),
    "mosaic8": (
        "MPT-3b,decoder,2667566080,32,2560,32,32,10240,50368,8192,h100_80gb,8,144,llm-foundry,"
        ",,19146,460.6,23.28,,amp_fp8"
    ),
    # torchtitan, docs/performance.md
    "titan": "Llama 8B,decoder,8030261248,32,4096,32,8,14336,128256,8192,A100-80GB,64,,torchtitan,,,2973,,58.2,",
    # Megatron-Bridge, performance summary
    "bridge": "LLAMA3_8B,decoder,8030261248,32,4096,32,8,14336,128256,8192,H100,8,,Megatron-Bridge,,,14451,744,,",
    # BigScience, experiments/tr11
    "prequel": (
        "GPT 181B,decoder,181000000000,72,14336,112,112,57344,250000,2048,A100-SXM-80GB,384,2048,Megatron-DeepSpeed,"
        "134.02,,,120.29,,improved TFLOPs formula"
    ),
    "older": (
        "GPT 200B,decoder,200000000000,80,14400,112,112,57600,250000,2048,A100-SXM-80GB,80,2048,Megatron-DeepSpeed,"
        "844.81,,,98.87,,"
    ),
    "unknown": "GPT,decoder,200000000,12,768,12,12,3072,50257,1024,A100-SXM-80GB,8,512,llm.c,0.3,,,100,,",
}
"""Published rows with a speed and the FLOP/s or utilisation that the source computed from it."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a table of these rows, one suite per row."""
    lines = [f"{name},{name},{row}" for name, row in ROWS.items()]
    (tmp_path / "throughput.csv").write_text("\n".join((HEADER, *lines)) + "\n")
    return tmp_path


def test_each_convention_gives_the_printed_figure(folder: Path) -> None:
    """Each speed converts to the printed figure within 0.5 %; MosaicML's FP8 rows refer to the 8-bit peak."""
    findings = judge_conversions(read_tables(folder))
    assert {result.suite for result in findings.results} == {"mosaic", "mosaic8", "titan", "bridge", "prequel"}
    assert all(result.median_ape is not None and result.median_ape < 0.005 for result in findings.results)


def test_rows_without_a_convention_are_left_out(folder: Path) -> None:
    """Rows without a counting convention are ineligible, with the reason."""
    findings = judge_conversions(read_tables(folder))
    assert {row.suite: row.reason for row in findings.ineligible} == {
        "older": "the row does not state which of two formulas its FLOP/s come from",
        "unknown": "the row does not state how it counts FLOPs",
    }
