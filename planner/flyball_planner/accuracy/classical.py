"""Judges boosted trees by published benchmarks: training time and memory.

The constants of `models/boosting.py` come from the same two suites, so nothing here is cold. It shows that one small
set of constants fits all of their rows.
"""

import re
from collections.abc import Mapping
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from flyball_planner.accuracy.judgement import Predictions, predict_rows, sum_up
from flyball_planner.accuracy.result import CALIBRATED, Judgement, Unsuited
from flyball_planner.accuracy.tables import RowConfiguration, TableRow, Tables
from flyball_planner.catalogue.hardware import ComputeDevice, DeviceKind
from flyball_planner.interval import Interval
from flyball_planner.models.boosting import Boosting, boosting
from flyball_planner.models.classical_time import SPREAD, classical_seconds
from flyball_planner.models.cost import ModelCost
from flyball_planner.precision import NumberFormat

FILE = "classical.csv"
SUITES = (("LightGBM", "lightgbm-experiments"), ("GBM-perf", "gbm-perf"))
"""A part of a row's source, and its suite."""


class _Columns(Struct, frozen=True):
    """The columns of a data set."""

    count: int
    present: int = 0  # per sample; 0: all


DATA_SETS: dict[str, _Columns] = {
    "higgs": _Columns(28),
    "yahoo ltr": _Columns(700, 519),  # set 1 (Chapelle and Chang, 2011)
    "ms ltr": _Columns(137),
    "expo": _Columns(700, 8),  # one-hot encoding of eight columns, as in szilard/benchm-ml
    "allstate": _Columns(4228, 31),  # one-hot encoding of 31 columns (Kaggle, ClaimPredictionChallenge)
    "criteo": _Columns(67),
    "airline": _Columns(8),
}

PROCESSORS = {
    "e5-2690 v4": (14, 76.8e9),
    "e5-2670 v2": (10, 59.7e9),
    "r4.8xlarge": (16, 76.8e9),  # E5-2686 v4
    "m5.12xlarge": (24, 128e9),  # Platinum 8175M
}
"""Cores and bytes per second of one processor (Intel's data sheets) or instance (two threads per core, AWS)."""

V100_BYTES_PER_SECOND = 900e9  # NVIDIA's V100 data sheet
LIBRARIES = {
    "xgboost exact": "xgboost-exact", "xgboost hist": "xgboost", "xgboost": "xgboost", "h2o": "h2o",
    "h2o xgboost": "h2o-xgboost", "lightgbm": "lightgbm", "catboost": "catboost",
}  # fmt: skip
LIGHTGBM_TREES, LIGHTGBM_LEAVES = 500, 255  # docs/Experiments.rst
GBM_PERF_TREES, GBM_PERF_DEPTH = 100, 10  # its README
GBM_PERF_LEAVES = 512  # its script for LightGBM, which limits leaves


def judge_classical(tables: Tables) -> Judgement:
    """Judge time and memory of each suite."""
    found = Judgement()
    for rows in _by_suite(tables).values():
        for metric, column, unit, predict in (
            ("total_time", "time_s", 1.0, _seconds),
            ("peak_memory", "memory_gb", 1e9, _memory_bytes),
        ):
            outcomes = predict_rows(rows, metric, predict, partial(_shown, column=column, unit=unit))
            found += sum_up(outcomes, metric, CALIBRATED, _factors(outcomes))
    return found


def _by_suite(tables: Tables) -> Mapping[str, list[TableRow]]:
    found: dict[str, list[TableRow]] = {}
    for row in tables.of(FILE):
        source = row.configuration["source"]
        suite = next((name for mark, name in SUITES if mark in source), row.suite)
        found.setdefault(suite, []).append(replace(row, suite=suite))
    return found


def _shown(row: TableRow, *, column: str, unit: float) -> float:
    value = row.shown(column)
    if not value:
        raise Unsuited(f"has no {column}")
    return value * unit


def _factors(outcomes: Predictions) -> dict[str, float]:
    """Return the share within a factor of two, and the worst factor."""
    if not outcomes.judged:
        return {}
    ratios = [each.predicted.middle / each.measured for each in outcomes.judged]
    worst = [max(ratio, 1 / ratio) for ratio in ratios]
    return {"within_factor_2": sum(factor <= 2 for factor in worst) / len(worst), "worst_factor": max(worst)}


def _seconds(row: RowConfiguration) -> Interval:
    return classical_seconds(_cost(row), _device(row["hardware"]))


def _memory_bytes(row: RowConfiguration) -> Interval:
    middle = _cost(row).working_bytes
    return Interval(middle / SPREAD, middle, middle * SPREAD)


def _cost(row: RowConfiguration) -> ModelCost:
    columns = _columns(row["dataset"])
    rows, features = row.number("n_rows"), row.number("n_features")
    library = _library(row["library"])
    if rows is None or columns is None or library is None:
        raise Unsuited("unknown data set or library, so rows, columns and algorithm are unknown")
    experiments = "Experiments" in row["source"]
    single = "time per tree" in row["task"]
    wanted = Boosting(
        n=round(rows),
        p=round(features) if features else columns.count,
        nonzeros=columns.present,
        library=library,  # type: ignore[arg-type]  # a value of LIBRARIES
        device="gpu" if _on_gpu(row["hardware"]) else "cpu",
        machines=row.count("n_machines", 1),
        trees=1 if single else LIGHTGBM_TREES if experiments else GBM_PERF_TREES,
        leaves=LIGHTGBM_LEAVES if experiments else GBM_PERF_LEAVES if library == "lightgbm" else 0,
        depth=GBM_PERF_DEPTH,
    )
    return boosting(wanted)


def _columns(data_set: str) -> _Columns | None:
    name = data_set.casefold()
    return next((columns for known, columns in DATA_SETS.items() if name.startswith(known)), None)


def _library(name: str) -> str | None:
    """Return the library; `LightGBM col-wise` and `LightGBM distributed` are LightGBM.

    The longest known prefix wins.
    """
    text = name.casefold()
    known = [each for each in LIBRARIES if text.startswith(each)]
    return LIBRARIES[max(known, key=len)] if known else None


def _on_gpu(hardware: str) -> bool:
    return "V100" in hardware or "GPU" in hardware


def _device(hardware: str) -> ComputeDevice:
    """Return a device; boosted trees only depend on cores and, on GPUs, on bandwidth."""
    if _on_gpu(hardware):
        return _made(DeviceKind.GPU, cores=0, bytes_per_second=V100_BYTES_PER_SECOND)
    text = hardware.casefold()
    known = next((figures for name, figures in PROCESSORS.items() if name in text), None)
    if known is None:
        raise Unsuited(f"the number of cores of {hardware!r} is unknown")
    sockets = int(found[1]) if (found := re.match(r"(\d+)x ", text)) else 1
    cores, bytes_per_second = sockets * known[0], sockets * known[1]
    threads = int(found[1]) if (found := re.search(r"\((\d+) threads", text)) else cores
    return _made(DeviceKind.CPU, cores=min(threads, cores), bytes_per_second=bytes_per_second)


def _made(kind: DeviceKind, *, cores: int, bytes_per_second: float) -> ComputeDevice:
    return ComputeDevice(
        name=kind.value,
        kind=kind,
        vendor="",
        architecture="",
        memory_bytes=0.0,
        memory_bytes_per_second=bytes_per_second,
        flops_per_second={NumberFormat.FP32: 1e12},
        cores=cores,
    )
