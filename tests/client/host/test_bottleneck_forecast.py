"""Predicted bottlenecks: the right resource for made-up machines, and the laws that every prediction keeps."""

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flyball.host.bottleneck_forecast import HostRates, forecast_bottleneck, missed_share
from flyball.host.hardware_parts import (
    GIB,
    DiskSpeed,
    GpuSpeed,
    HostBenchmarks,
    HostMemory,
    HostProcessor,
    HostTier,
    MongoSpeed,
    NetworkSpeed,
    ProcessorSpeed,
    WorkingFolder,
)
from flyball.host.hardware_profile import HardwareProfile
from flyball.host.learner_work import HostWork, learner_work, pattern_cost
from flyball_reports.errors import InputError

MONGO = MongoSpeed(
    server="x", documents=1000, inserts_per_second=2e4, single_inserts_per_second=3e3, queries_per_second=4e3,
    insert_latency_ms=0.33, query_latency_ms=0.25,
)  # fmt: skip
DISK = DiskSpeed(
    path="/", bytes=2**29, write_mb_per_second=1000.0, read_mb_per_second=2000.0, random_reads_per_second=8e3,
    random_writes_per_second=5e3, direct=True,
)  # fmt: skip
SPEED = ProcessorSpeed(matmul_gflops=1e3, threads=8, python_patterns_per_second=6e5)
MEASURED = HostBenchmarks(mongo=MONGO, disk=DISK, processor=SPEED)
MACHINE = HardwareProfile(
    tier=HostTier.HIGH,
    processor=HostProcessor(usable_cpus=8.0, logical_cpus=8),
    memory=HostMemory(total_bytes=64 * GIB, available_bytes=60 * GIB),
    folder=WorkingFolder(path="/", kind="nvme"),
    benchmarks=MEASURED,
)


def with_rates(machine: HardwareProfile, **changes: object) -> HardwareProfile:
    """Return the machine with other measurements."""
    return replace(machine, benchmarks=replace(MEASURED, **changes))  # type: ignore[arg-type]  # made-up rates


def test_a_learner_with_single_calls_waits_for_its_database() -> None:
    """As the first users' trainings did; the reason has the numbers."""
    forecast = MACHINE.predict_bottleneck(dataset_size=100_000, chunk_size=15, num_nodes=4)
    assert forecast.primary == "database"
    assert "3,000 single writes per second" in forecast.reason
    assert forecast.confidence is not None
    assert forecast.confidence > 0.9
    assert [demand.resource for demand in forecast.demands] == ["database", "cpu", "disk"]
    observed = 100_000 * (34 + 3 + 1 + 1)
    assert forecast.demands[0].seconds == pytest.approx(observed * (1 / 4e3 + 1 / 3e3))


def test_a_learner_that_keeps_patterns_in_memory_is_limited_by_the_cpu() -> None:
    """Four workers need a quarter of the time."""
    forecast = MACHINE.predict_bottleneck(100_000, pattern_store="memory")
    assert forecast.primary == "cpu"
    four = MACHINE.predict_bottleneck(100_000, pattern_store="memory", workers=4)
    assert four.demands[0].seconds == pytest.approx((forecast.demands[0].seconds or 0) / 4)


def test_patterns_that_do_not_fit_into_memory_make_memory_the_limit() -> None:
    """Before the time of anything else matters."""
    small = replace(MACHINE, memory=HostMemory(total_bytes=8 * GIB, available_bytes=2 * GIB))
    forecast = small.predict_bottleneck(10_000_000, pattern_store="memory")
    assert forecast.primary == "memory"
    assert "available memory" in forecast.reason
    assert forecast.demands[0].share is not None
    assert forecast.demands[0].share > 1


def test_a_database_far_beyond_its_cache_waits_for_the_disk() -> None:
    """On a hard disk each look-up that the cache cannot answer is a seek."""
    slow = with_rates(MACHINE, disk=replace(DISK, random_reads_per_second=80.0))
    small = replace(slow, memory=HostMemory(total_bytes=8 * GIB, available_bytes=6 * GIB))
    forecast = small.predict_bottleneck(100_000_000)
    assert forecast.primary == "disk"
    assert "beyond the database's cache" in forecast.reason
    assert slow.predict_bottleneck(100_000).primary == "database"


def test_a_gpu_limits_what_is_mostly_matrix_products() -> None:
    """All GPUs together; without a measured rate it is unknown with its reason."""
    gpus = (GpuSpeed(index=0, matmul_tflops={"bf16": 600.0}), GpuSpeed(index=1, matmul_tflops={"bf16": 600.0}))
    machine = with_rates(MACHINE, gpus=gpus)
    rates = HostRates.of(machine.processor, machine.memory, machine.folder, machine.benchmarks, {})
    forecast = forecast_bottleneck(rates, HostWork(device_flops=1.2e18, read_bytes=1e9))
    assert forecast.primary == "gpu"
    assert forecast.demands[0].seconds == pytest.approx(1000)
    unknown = forecast_bottleneck(replace(rates, device_flops={}), HostWork(device_flops=1e18))
    assert (unknown.primary, unknown.confidence) == (None, None)
    assert unknown.unknown["gpu"] == "the GPUs were not measured"


def test_a_learner_that_calls_a_slow_service_waits_for_it() -> None:
    """Workers wait at the same time, also if they are more than the CPUs; without a round trip it is unknown."""
    machine = with_rates(MACHINE, network=NetworkSpeed(localhost_ms=0.05, service_ms=20.0))
    forecast = machine.predict_bottleneck(10_000, pattern_store="memory", calls_per_sample=100)
    assert forecast.primary == "network"
    assert forecast.reason.endswith("1,000,000 calls of the service take 5 h 33 min: 20 ms each")
    many = machine.predict_bottleneck(10_000, pattern_store="memory", calls_per_sample=100, workers=16)
    assert many.demands[0].seconds == pytest.approx((forecast.demands[0].seconds or 0) / 16)
    assert MACHINE.predict_bottleneck(10_000, calls_per_sample=100).unknown == {
        "network": "the service was not measured"
    }


def test_numbers_of_numpy_are_numbers() -> None:
    """As of an array of sizes."""
    numpy = pytest.importorskip("numpy")
    assert MACHINE.predict_bottleneck(numpy.int64(1000), numpy.int32(15)) == MACHINE.predict_bottleneck(1000, 15)


def test_without_measurements_typical_rates_are_marked() -> None:
    """The database is unknown: its reason is kept, because it may be the real limit."""
    bare = replace(MACHINE, benchmarks=None)
    forecast = bare.predict_bottleneck(100_000)
    assert forecast.primary == "cpu"
    assert not forecast.demands[0].measured
    assert "a typical rate" in forecast.reason
    assert forecast.unknown == {"database": "MongoDB was not measured"}


def test_the_reason_why_mongodb_was_not_measured_is_passed_on() -> None:
    """Such as that no server answers."""
    machine = replace(with_rates(MACHINE, mongo=None), unavailable={"benchmarks.mongo": "no MongoDB answers at x"})
    assert machine.predict_bottleneck(1000).unknown == {"database": "no MongoDB answers at x"}


def test_training_without_work_has_no_limit() -> None:
    """Nothing is divided by zero."""
    forecast = forecast_bottleneck(HostRates(), HostWork())
    assert (forecast.primary, forecast.seconds, forecast.reason) == (None, 0.0, "the training has no work")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"dataset_size": 0}, "expected at least 1 sample"),
        ({"dataset_size": "a"}, "dataset_size: expected a whole number, not 'a'"),
        ({"dataset_size": 10.5}, "dataset_size: expected a whole number, not 10.5"),
        ({"dataset_size": 10, "chunk_size": None}, "chunk_size: expected a whole number, not None"),
        ({"dataset_size": 10, "workers": True}, "workers: expected a whole number, not True"),
        ({"dataset_size": 10, "tokens_per_sample": "500"}, "tokens_per_sample: expected a number, not '500'"),
        ({"dataset_size": 10, "tokens_per_sample": float("nan")}, "tokens_per_sample: expected a number, not nan"),
        ({"dataset_size": 10**5000}, r"dataset_size: expected at most 1e\+18, not one with thousands of digits"),
        ({"dataset_size": Fraction(10**5000)}, "not one with thousands of digits"),
        ({"dataset_size": [10**5000]}, "dataset_size: expected a whole number, not one with thousands of digits"),
        ({"dataset_size": "x" * 100}, "dataset_size: expected a whole number, not 'x{39}…$"),
        ({"dataset_size": 10, "calls_per_sample": -1}, "calls_per_sample must be at least 0, not -1"),
        ({"dataset_size": 10, "chunk_size": 1}, "chunks of 2 to"),
        ({"dataset_size": 10, "num_nodes": 0}, "1 to 32 nodes"),
        ({"dataset_size": 10, "workers": 0}, "workers must be at least 1"),
        ({"dataset_size": 10, "pattern_store": "redis"}, "expected mongodb or memory"),
    ],
)
def test_impossible_learners_are_refused(arguments: dict[str, object], reason: str) -> None:
    """With what was expected."""
    with pytest.raises(InputError, match=reason):
        learner_work(**arguments)  # type: ignore[arg-type]  # wrong on purpose


def test_longer_chunks_cost_more_each_and_less_together() -> None:
    """A pattern of 40 tokens takes half as long again as one of 15, but there are fewer of them."""
    assert pattern_cost(15) == 1.0
    assert 1.3 < pattern_cost(40) < 1.7
    seconds = [MACHINE.predict_bottleneck(1000, chunk, pattern_store="memory").seconds for chunk in (5, 15, 40)]
    assert seconds == sorted(seconds, reverse=True)


@given(st.floats(0, 1e12), st.floats(0, 1e12), st.floats(0, 1e12))
def test_more_cache_never_misses_more(cache: float, more: float, stored: float) -> None:
    """And the share of misses is between 0 and 1."""
    work = HostWork(database_bytes=stored, cache_bytes=stored / 3)
    before, after = missed_share(work, cache), missed_share(work, cache + more)
    assert 0 <= after <= before <= 1


@settings(max_examples=15, deadline=None)
@given(st.integers(1_000, 1_000_000), st.sampled_from([1, 2, 10]), st.sampled_from(["mongodb", "memory"]))
def test_more_data_never_takes_less_time(samples: int, times: int, store: str) -> None:
    """Time grows with the data set, and a slower database never makes the prediction shorter."""
    first = MACHINE.predict_bottleneck(samples, pattern_store=store)
    assert MACHINE.predict_bottleneck(samples * times, pattern_store=store).seconds >= first.seconds
    slower = with_rates(MACHINE, mongo=replace(MONGO, single_inserts_per_second=300.0))
    assert slower.predict_bottleneck(samples, pattern_store=store).seconds >= first.seconds
