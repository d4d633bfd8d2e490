"""Boosted trees against published benchmarks: how long they trained, and how much memory they took.

The constants of `models/boosting.py` were found in the same two suites, so nothing here is cold: what it shows is that
one small set of constants holds for all of their rows.
"""

import re
from collections.abc import Mapping
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from flyball_planner.accuracy.judging import Outcomes, predict_rows, sum_up
from flyball_planner.accuracy.result import CALIBRATED, Findings, Unsuited
from flyball_planner.accuracy.tables import Configuration, Row, Tables
from flyball_planner.catalogue.hardware import Device, DeviceKind
from flyball_planner.interval import Interval
from flyball_planner.models.boosting import Boosting, boosting
from flyball_planner.models.classical_time import SPREAD, classical_seconds
from flyball_planner.models.cost import ModelCost
from flyball_planner.precision import Format

FILE = "classical.csv"
SUITES = (("LightGBM", "lightgbm-experiments"), ("GBM-perf", "gbm-perf"))
"""What stands in a row's source, and the suite that it is."""


class _Columns(Struct, frozen=True):
    """What a data set's name tells of its columns."""

    count: int
    present: int = 0  # that one sample has; 0: all


DATA_SETS: dict[str, _Columns] = {
    "higgs": _Columns(28),
    "yahoo ltr": _Columns(700, 519),  # features of set 1 (Chapelle and Chang, 2011)
    "ms ltr": _Columns(137),
    "expo": _Columns(700, 8),  # one-hot of eight columns, as szilard/benchm-ml has them
    "allstate": _Columns(4228, 31),  # one-hot of 31 columns (Kaggle, ClaimPredictionChallenge)
    "criteo": _Columns(67),
    "airline": _Columns(8),
}

PROCESSORS = {
    "e5-2690 v4": (14, 76.8e9),
    "e5-2670 v2": (10, 59.7e9),
    "r4.8xlarge": (16, 76.8e9),  # of an E5-2686 v4
    "m5.12xlarge": (24, 128e9),  # a Platinum 8175M
}
"""Cores and bytes a second of one processor (Intel's data sheets) or instance (two threads a core, AWS)."""

V100_BYTES_PER_SECOND = 900e9  # NVIDIA's V100 data sheet
LIBRARIES = {
    "xgboost exact": "xgboost-exact", "xgboost hist": "xgboost", "xgboost": "xgboost", "h2o": "h2o",
    "h2o xgboost": "h2o-xgboost", "lightgbm": "lightgbm", "catboost": "catboost",
}  # fmt: skip
LIGHTGBM_TREES, LIGHTGBM_LEAVES = 500, 255  # docs/Experiments.rst
GBM_PERF_TREES, GBM_PERF_DEPTH = 100, 10  # its README …
GBM_PERF_LEAVES = 512  # … and its script for LightGBM, which counts leaves


def judge_classical(tables: Tables) -> Findings:
    """Time and memory of each suite."""
    found = Findings()
    for rows in _by_suite(tables).values():
        for metric, column, unit, predict in (
            ("total_time", "time_s", 1.0, _seconds),
            ("peak_memory", "memory_gb", 1e9, _memory_bytes),
        ):
            outcomes = predict_rows(rows, metric, predict, partial(_shown, column=column, unit=unit))
            found += sum_up(outcomes, metric, CALIBRATED, _factors(outcomes))
    return found


def _by_suite(tables: Tables) -> Mapping[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in tables.of(FILE):
        source = row.configuration["source"]
        suite = next((name for mark, name in SUITES if mark in source), row.suite)
        found.setdefault(suite, []).append(replace(row, suite=suite))
    return found


def _shown(row: Row, *, column: str, unit: float) -> float:
    value = row.shown(column)
    if not value:
        raise Unsuited(f"shows no {column}")
    return value * unit


def _factors(outcomes: Outcomes) -> dict[str, float]:
    """How many lie within a factor of two, and the worst factor."""
    if not outcomes.judged:
        return {}
    ratios = [each.predicted.middle / each.measured for each in outcomes.judged]
    worst = [max(ratio, 1 / ratio) for ratio in ratios]
    return {"within_factor_2": sum(factor <= 2 for factor in worst) / len(worst), "worst_factor": max(worst)}


def _seconds(row: Configuration) -> Interval:
    return classical_seconds(_cost(row), _device(row["hardware"]))


def _memory_bytes(row: Configuration) -> Interval:
    middle = _cost(row).working_bytes
    return Interval(middle / SPREAD, middle, middle * SPREAD)


def _cost(row: Configuration) -> ModelCost:
    columns = _columns(row["dataset"])
    rows, features = row.number("n_rows"), row.number("n_features")
    library = _library(row["library"])
    if rows is None or columns is None or library is None:
        raise Unsuited("data set or library is not known: rows, columns and algorithm cannot be told")
    own = "Experiments" in row["source"]
    single = "time per tree" in row["task"]
    wanted = Boosting(
        n=round(rows),
        p=round(features) if features else columns.count,
        nonzeros=columns.present,
        library=library,  # type: ignore[arg-type]  # a value of LIBRARIES
        device="gpu" if _on_gpu(row["hardware"]) else "cpu",
        machines=row.count("n_machines", 1),
        trees=1 if single else LIGHTGBM_TREES if own else GBM_PERF_TREES,
        leaves=LIGHTGBM_LEAVES if own else GBM_PERF_LEAVES if library == "lightgbm" else 0,
        depth=GBM_PERF_DEPTH,
    )
    return boosting(wanted)


def _columns(data_set: str) -> _Columns | None:
    name = data_set.casefold()
    return next((columns for known, columns in DATA_SETS.items() if name.startswith(known)), None)


def _library(name: str) -> str | None:
    """`LightGBM col-wise` and `LightGBM distributed` are LightGBM; the longest known beginning counts."""
    told = name.casefold()
    known = [each for each in LIBRARIES if told.startswith(each)]
    return LIBRARIES[max(known, key=len)] if known else None


def _on_gpu(hardware: str) -> bool:
    return "V100" in hardware or "GPU" in hardware


def _device(hardware: str) -> Device:
    """Only cores and, of GPUs, bandwidth matter to boosted trees."""
    if _on_gpu(hardware):
        return _made(DeviceKind.GPU, cores=0, bytes_per_second=V100_BYTES_PER_SECOND)
    told = hardware.casefold()
    known = next((figures for name, figures in PROCESSORS.items() if name in told), None)
    if known is None:
        raise Unsuited(f"the cores of {hardware!r} are not known")
    sockets = int(found[1]) if (found := re.match(r"(\d+)x ", told)) else 1
    cores, bytes_per_second = sockets * known[0], sockets * known[1]
    threads = int(found[1]) if (found := re.search(r"\((\d+) threads", told)) else cores
    return _made(DeviceKind.CPU, cores=min(threads, cores), bytes_per_second=bytes_per_second)


def _made(kind: DeviceKind, *, cores: int, bytes_per_second: float) -> Device:
    return Device(
        name=kind.value,
        kind=kind,
        vendor="",
        architecture="",
        memory_bytes=0.0,
        memory_bytes_per_second=bytes_per_second,
        flops_per_second={Format.FP32: 1e12},
        cores=cores,
    )
