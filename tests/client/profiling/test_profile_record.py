"""The summary of a profile."""

import pytest

from flyball.profiling.profile_record import MOST_SNAPSHOTS, ProfileRecord, percentile
from flyball.profiling.profile_scores import ResourceUse, base_scores
from flyball.profiling.resource_snapshot import ResourceSnapshot
from tests.client.profiling.samples import sample


def snapshot(
    megabytes: float | None = None, *, api: float | None = None, localhost: float | None = None
) -> ResourceSnapshot:
    """Return a snapshot with memory and latencies."""
    memory = None if megabytes is None else int(megabytes * 1e6)
    return ResourceSnapshot(
        0.0,
        0.0,
        memory_bytes=memory,
        api_latency_seconds=api,
        localhost_latency_seconds=localhost,
        processes=2,
        threads=5,
    )


def test_memory_is_averaged_over_time_and_not_over_samples() -> None:
    """Early samples follow each other faster than later ones."""
    record = ProfileRecord(1.0, None)
    for at, megabytes in ((0.0, 100), (0.1, 100), (0.2, 100), (1.2, 100), (3.2, 300), (3.3, None)):
        record.add(sample(at, snapshot=snapshot(megabytes)))
    found = record.summary(samples=50)
    assert found.memory_avg_mb == pytest.approx((1.2 * 100 + 2 * 200) / 3.2)
    assert found.peak_memory_mb == 300
    assert found.memory_per_sample_mb == 4.0
    assert found.snapshots == 6


def test_a_peak_between_two_samples_counts() -> None:
    """The kernel keeps the largest memory of a process."""
    record = ProfileRecord(1.0, None)
    record.add(sample(0, snapshot=snapshot(10)))
    record.add_peak(500e6)
    assert record.summary().peak_memory_mb == 500
    assert record.summary().memory_per_sample_mb is None


def test_cpu_is_the_sum_over_the_duration() -> None:
    """The command's in percent of a core, the machine's in percent of all cores."""
    record = ProfileRecord(1.0, 2.0)
    record.add(sample(10, cpu=0, machine_busy=3))
    record.add(sample(14, cpu=6, machine_busy=9))
    found = record.summary()
    assert (found.duration_seconds, found.cpu_seconds, found.cpu_avg_percent) == (4, 6, 150)
    assert found.machine_cpu_avg_percent == pytest.approx(75)
    assert found.cpu_avg_percent_per_core == pytest.approx((75, 75))


def test_latencies_have_mean_and_95th_percentile() -> None:
    """Unknown ones do not count, and what was measured once has no reason to be unknown."""
    record = ProfileRecord(1.0, None)
    for at in range(20):
        taken = sample(at, snapshot=snapshot(api=0.001 * (at + 1) if at != 5 else None))
        record.add(taken._replace(unavailable={"api_latency": "Connection refused", "gpu_memory": "no GPU"}))
    found = record.summary()
    assert found.api_latency_ms == pytest.approx((210 - 6) / 19)
    assert found.api_latency_p95_ms == 20.0
    assert found.localhost_latency_ms is None
    assert found.unavailable == {"gpu_memory": "no GPU"}


def test_the_percentile_is_a_value_that_was_measured() -> None:
    """The smallest one that is not exceeded by the share."""
    assert percentile(list(range(1, 101)), 0.95) == 95
    assert percentile([3.0], 0.95) == 3.0
    assert percentile([], 0.95) is None


def test_items_of_levels_become_rates_and_replace_known_ones() -> None:
    """Rates of an open run are known otherwise."""
    record = ProfileRecord(1.0, None)
    record.add(sample(0))
    record.add(sample(4))
    found = record.summary(items={"node0": 100.0}, rates={"node0": 1.0, "node1": 2.0})
    assert found.learning_rate_per_level == {"node0": 25.0, "node1": 2.0}


def test_a_long_profile_keeps_a_fixed_number_of_snapshots_with_the_newest() -> None:
    """Memory of the profiler does not grow without end."""
    record = ProfileRecord(1.0, None)
    for at in range(3 * MOST_SNAPSHOTS + 1):
        record.add(sample(at))
    kept = record.snapshots()
    assert len(kept) <= MOST_SNAPSHOTS + 1
    assert (kept[0].elapsed_seconds, kept[-1].elapsed_seconds) == (0, 3 * MOST_SNAPSHOTS)
    assert record.summary().snapshots == 3 * MOST_SNAPSHOTS + 1


def test_without_a_sample_everything_is_unknown() -> None:
    """The reason remains."""
    record = ProfileRecord(1.0, None)
    record.add_reason("snapshot", "OSError: broken")
    found = record.summary()
    assert (found.peak_memory_mb, found.cpu_avg_percent, found.primary_bottleneck) == (None, None, "")
    assert found.unavailable == {"snapshot": "OSError: broken"}
    assert record.snapshots() == []


def test_each_score_is_the_larger_of_the_machines_and_the_programs_own() -> None:
    """Others that fill the machine limit a program, and so does its own limit below the machine's."""
    by_machine = ResourceUse(
        machine_cpu_percent=80, own_cpu_ratio=0.1, machine_memory_percent=30, group_memory_ratio=0.2
    )
    assert base_scores(by_machine) == pytest.approx({"cpu": 1.0, "memory": 0.4, "disk": None, "network": None})
    own = ResourceUse(
        machine_cpu_percent=1, own_cpu_ratio=0.4, machine_memory_percent=3, group_memory_ratio=0.6,
        disk_write_rate=5e6, own_write_rate=25e6, latency_ms=25,
    )  # fmt: skip
    found = base_scores(own)
    assert found == pytest.approx({"cpu": 0.5, "memory": 0.8, "disk": 0.5, "network": 0.25})


def test_the_summary_has_the_primary_bottleneck_with_its_confidence() -> None:
    """From the means over the profile, and the peak of memory."""
    record = ProfileRecord(1.0, 2.0)
    record.add(sample(0, machine_memory=0.6, group_memory=0.1))
    record.add(
        sample(10, cpu=4.0, written=300e6, machine_busy=4, machine_memory=0.15, disk=100_000_000, group_memory=0.2)
    )
    found = record.summary()
    assert found.base_scores == pytest.approx({"cpu": 0.25, "memory": 0.8, "disk": 0.6, "network": None})
    assert found.primary_bottleneck == "memory"
    assert found.bottleneck_confidence == pytest.approx(0.8)
