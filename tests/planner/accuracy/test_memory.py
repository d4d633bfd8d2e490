"""Tests of judging predicted memory."""

from pathlib import Path

import pytest

from flyball_planner.accuracy.memory import judge_peak_memory
from flyball_planner.accuracy.memory_fitting import SPREADS, USUAL_SHARE, fitted_without
from flyball_planner.accuracy.memory_mlp import judge_perceptrons
from flyball_planner.accuracy.memory_rows import estimate_row, matching_interval, measured_bytes
from flyball_planner.accuracy.model_states import judge_model_states
from flyball_planner.accuracy.result import Unsuited
from flyball_planner.accuracy.rows.words import read_precision
from flyball_planner.accuracy.tables import RowConfiguration, TableRow, Tables, read_tables
from flyball_planner.memory.constants import CONSTANTS
from flyball_planner.memory.deepspeed import deepspeed_states_bytes
from flyball_planner.training import Offload, Sharding
from tests.planner.accuracy.test_rows import GPT, LITGPT

MEANING = {"mem_unit": "GB (1e9)", "mem_meaning": "peak memory"}


def row(name: str, columns: dict[str, str], measured: str) -> TableRow:
    """Return a row of the only suite."""
    return TableRow(
        "memory_measured.csv", name, "suite", RowConfiguration({**MEANING, **columns}), {"mem_value": measured}
    )


def tables(*rows: TableRow) -> Tables:
    """Return the tables of a folder that holds one table."""
    return Tables({"memory_measured.csv": rows})


def test_units_are_not_guessed() -> None:
    """GiB and GB differ, and a row with an unknown unit is unsuited."""
    assert measured_bytes(row("a", {}, "2")) == 2e9
    assert measured_bytes(row("a", {"mem_unit": "GiB"}, "2")) == 2 * 2**30
    with pytest.raises(Unsuited, match="unit"):
        measured_bytes(row("a", {"mem_unit": "pages"}, "2"))


def test_the_row_selects_the_kind_of_memory() -> None:
    """Memory of tensors, memory reserved for them, and memory in use by the driver are three figures."""
    estimate = estimate_row(RowConfiguration(GPT), CONSTANTS)
    predicted = [
        matching_interval(RowConfiguration({"mem_meaning": text}), estimate).middle
        for text in ("peak memory active", "peak (reserved), max over GPUs", "max of sampled nvidia-smi memory.used")
    ]
    assert predicted == sorted(set(predicted))


def test_constants_are_fitted_without_the_judged_suite() -> None:
    """Without another suite the fitted constants have their defaults for unknown values."""
    alone = fitted_without(tables(row("a", LITGPT, "13.5")), "suite")
    assert alone.allocator_share == USUAL_SHARE
    assert (alone.omitted_share, alone.whole_spread) == (CONSTANTS.omitted_share, CONSTANTS.whole_spread)


def test_what_other_suites_miss_widens_and_moves_the_judged_one() -> None:
    """If another suite takes more than predicted, predictions rise; if its rows scatter, intervals widen."""
    columns = {**MEANING, **LITGPT}
    predicted = estimate_row(RowConfiguration(columns), CONSTANTS).allocated[0].middle / 1e9
    judged = row("a", LITGPT, str(predicted))

    def others(*factors: float) -> list[TableRow]:
        return [
            TableRow(
                "memory_measured.csv", "b", "other", RowConfiguration(columns), {"mem_value": str(each * predicted)}
            )
            for each in factors
        ]

    assert fitted_without(tables(judged, *others(1.4)), "suite").omitted_share > 0.15
    assert fitted_without(tables(judged, *others(1.0)), "suite").whole_spread == SPREADS[0]
    assert fitted_without(tables(judged, *others(0.6, 1.4)), "suite").whole_spread == SPREADS[-1]


def test_a_row_may_measure_a_single_part() -> None:
    """Activations alone are compared with that part; a mixture of parts is refused."""
    estimate = estimate_row(RowConfiguration(GPT), CONSTANTS)
    part = matching_interval(RowConfiguration({"component": "activations"}), estimate)
    assert part.middle == estimate.parts["activations"][0]
    with pytest.raises(Unsuited, match="not a part"):
        matching_interval(RowConfiguration({"component": "weights and gradients"}), estimate)


def test_an_out_of_memory_run_is_judged_only_by_fit() -> None:
    """A run that ran out of memory has no measured figure; only the verdict "does not fit" is checked."""
    found = judge_peak_memory(tables(row("a", LITGPT, "13.5"), row("b", {**LITGPT, "micro_batch": "64"}, "OOM")))
    fitting = next(result for result in found.results if result.metric == "fits")
    assert fitting.details["ran_out_of_memory"] == 1
    assert fitting.details["ran_out_of_memory_yet_fits"] == 0
    assert fitting.details["ran_yet_does_not_fit"] == 0
    assert [each.id for each in found.ineligible] == ["b"]


def test_calibration_with_five_runs_reduces_a_systematic_error() -> None:
    """If all runs use a fifth more than predicted, calibration more than halves the error."""
    rows = []
    for batch in (1, 2, 4, 8, 3, 5, 6, 7):
        columns = {**LITGPT, "micro_batch": str(batch)}
        predicted = matching_interval(
            RowConfiguration(MEANING), estimate_row(RowConfiguration(columns), CONSTANTS)
        ).middle
        rows.append(row(str(batch), columns, str(1.2 * predicted / 1e9)))
    all_results = judge_peak_memory(tables(*rows)).results
    results = {each.mode: each for each in all_results if (each.suite, each.metric) == ("suite", "peak_memory")}
    cold, calibrated = results["cold"].median_ape, results["calibrated"].median_ape
    assert cold is not None
    assert calibrated is not None
    assert calibrated < cold / 2


def test_published_states_agree_to_the_printed_digits(tmp_path: Path) -> None:
    """The ZeRO paper's table and DeepSpeed's estimator agree, each with its own formula."""
    (tmp_path / "memory_analytical.csv").write_text(
        "id,suite,params,n_gpus,dp,zero_or_fsdp,precision,optimizer,mem_value,mem_unit,notes\n"
        "a,zero-paper-table1,7500000000,64,64,ZeRO-1,fp16 mixed,Adam,31.4,GB (1e9),\n"
        "b,deepspeed-estimator,2851000000,8,8,ZeRO-2; offload none,fp16 mixed,Adam,15.93,GB (1024^3),"
        "largest layer 32M params\n"
    )
    for result in judge_model_states(read_tables(tmp_path)).results:
        assert result.details["to_the_printed_digits"] == 1


def test_deepspeed_estimators_support_two_stages() -> None:
    """With offloading the GPU keeps the largest layer or the weights. Other stages have no estimator."""
    assert deepspeed_states_bytes(1e9, 1e7, 8, Sharding.ZERO2, Offload.OPTIMIZER) == 2e9
    assert deepspeed_states_bytes(1e9, 1e7, 8, Sharding.ZERO3, Offload.PARAMETERS) == 4e7
    with pytest.raises(ValueError, match="ZeRO-2 and ZeRO-3"):
        deepspeed_states_bytes(1e9, 1e7, 8, Sharding.ZERO1)


def test_small_perceptrons_are_judged_by_distance(tmp_path: Path) -> None:
    """Below 40 MiB a prediction is judged by its error in MiB."""
    (tmp_path / "memory_mlp_gpumemnet.csv").write_text(
        "id,input,batch,activation,dropout_layers,batchnorm_layers,layer_out_features,max_gpu_mem_MiB,precision,optimizer\n"
        "small,39,99,Softplus,0,3,39 39 39 2,1451,fp32,Adam\n"
        "large,3742,983,SELU,0,0,3742 3742 3742 3742 3742 3742 3742 3742 3742 3742 73,4505,fp32,Adam\n"
    )
    results = {result.metric: result for result in judge_perceptrons(read_tables(tmp_path)).results}
    assert results["peak_memory_below_40_mib"].details["within_4_mib"] == 1
    error = results["peak_memory_above_floor"].median_ape
    assert error is not None
    assert error < 0.15


@pytest.mark.parametrize(
    ("framework", "precision", "method", "autocast"),
    [
        ("Hugging Face Trainer", "fp16", "full", True),
        ("PyTorch 2.3", "bf16 mixed", "pretrain", True),
        ("LitGPT 0.4", "bf16-mixed", "full", True),
        ("LitGPT 0.4", "bf16-true", "full", False),
        ("Hugging Face Trainer", "bf16", "lora", False),
        ("Hugging Face Trainer, DeepSpeed", "fp16", "full", False),
        ("Megatron-DeepSpeed", "bf16/fp16 mixed", "pretrain", False),
    ],
)
def test_mixed_precision_is_autocast_where_the_framework_means_it(
    framework: str, precision: str, method: str, autocast: bool
) -> None:
    """Hugging Face's fp16 and Lightning's mixed are torch.autocast; Megatron, DeepSpeed and frozen weights are not."""
    columns = {"framework": framework, "precision": precision, "method": method}
    assert read_precision(RowConfiguration(columns)).autocast is autocast
