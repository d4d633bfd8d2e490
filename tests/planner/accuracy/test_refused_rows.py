"""Tests that the accuracy command never counts a row that it does not understand."""

import csv
import json
from pathlib import Path

import pytest

from flyball_planner.accuracy.__main__ import main

ROW = {
    "id": "known", "suite": "own", "model": "gpt2", "arch": "decoder", "seq_len_or_input": "1024",
    "gpu": "A100-SXM4-80GB", "n_gpus": "1", "dp": "1", "zero_or_fsdp": "none", "micro_batch": "8", "grad_accum": "1",
    "global_batch": "8", "method": "full", "precision": "bf16", "optimizer": "AdamW", "act_ckpt": "none",
    "framework": "PyTorch", "component": "total", "mem_value": "20", "mem_unit": "GiB", "mem_meaning": "peak allocated",
}  # fmt: skip
REFUSED = {
    "adapter": {"method": "LoHa"},
    "batch": {"micro_batch": "auto", "global_batch": ""},
    "no-batch": {"micro_batch": "", "grad_accum": "", "global_batch": ""},
    "no-sequence": {"seq_len_or_input": ""},
    "precision": {"precision": "posit16"},
    "offload": {"zero_or_fsdp": "ZeRO-3, offload to NVMe"},
    "parallelism": {"zero_or_fsdp": "2D tensor"},
    "optimizer": {"optimizer": "Shampoo"},
}


def test_refused_rows_are_listed_and_not_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One row is judged; each other one is listed as not eligible or not predicted, with its reason."""
    with (tmp_path / "memory_measured.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(ROW))
        writer.writeheader()
        writer.writerows([ROW, *({**ROW, **changed, "id": name} for name, changed in REFUSED.items())])
    assert main([str(tmp_path), "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    cold = next(
        each for each in document["results"] if each["metric"] == "peak_memory" and each["suite"] == "own"
        and each["mode"] == "cold"
    )  # fmt: skip
    assert (cold["eligible"], cold["predicted"]) == (1, 1)
    reasons = {each["id"]: each["reason"] for each in document["ineligible"] if each["metric"] == "peak_memory"}
    assert reasons.keys() == REFUSED.keys()
    assert all(reasons.values())
