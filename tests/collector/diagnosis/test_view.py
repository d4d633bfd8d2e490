"""The view: readings of the fleet as arrays along hosts, GPUs and resources."""

import numpy as np

from flyball_collector.diagnosis.view import View
from flyball_collector.engine.player import Key, Player, RecordedSample, recording

GPU = (("gpu", "GPU-0"), ("index", "0"))
OTHER = (("gpu", "GPU-1"), ("index", "1"))


def power(watts: float, labels: tuple[tuple[str, str], ...] = GPU) -> dict[Key, float]:
    return {("gpu_power_watts", labels): watts}


def played(*samples: RecordedSample, counters: tuple[str, ...] = ()) -> View:
    player = Player(recording(samples, counters))
    for _ in player.play():
        pass
    assert player.diagnosis.view is not None
    return player.diagnosis.view


def test_hosts_and_gpus_are_in_order_with_their_newest_values() -> None:
    """Each GPU has its host's position; metrics that a host does not have are unknown."""
    view = played(
        RecordedSample(0, "b", {**power(20, OTHER), **power(10)}), RecordedSample(0, "a", {("cpu_busy_ratio", ()): 0.5})
    )
    assert [subject.host for subject in view.hosts.names] == ["a", "b"]
    assert [(subject.host, subject.gpu) for subject in view.gpus.names] == [("b", "GPU-0"), ("b", "GPU-1")]
    assert view.gpus.hosts.tolist() == [1, 1]
    assert view.gpu("gpu_power_watts").tolist() == [10, 20]
    np.testing.assert_equal(view.host("cpu_busy_ratio"), [0.5, np.nan])
    assert np.isnan(view.gpu("gpu_sm_clock_hertz")).all()


def test_a_gpu_metric_without_a_gpu_label_is_ignored() -> None:
    """Agents may declare any columns. These must not break the view of the others."""
    view = played(
        RecordedSample(0, "a", {**power(10, ()), **power(20, (("index", "3"),))}), RecordedSample(0, "b", power(30))
    )
    assert [(subject.host, subject.gpu) for subject in view.gpus.names] == [("b", "GPU-0")]
    assert view.gpu("gpu_power_watts").tolist() == [30]


def test_means_use_the_seconds_of_the_input() -> None:
    """With a sample every 10 s, the mean over a minute has six samples, the one over 10 s has one."""
    view = played(*(RecordedSample(10.0 * n, "a", {("cpu_busy_ratio", ()): n / 100}) for n in range(20)))
    assert view.host("cpu_busy_ratio", 10)[0] == np.float32(0.19)
    np.testing.assert_allclose(view.host("cpu_busy_ratio", 60), np.mean([0.14, 0.15, 0.16, 0.17, 0.18, 0.19]), 1e-6)
    assert view.host_samples("cpu_busy_ratio", 60).tolist() == [6]
    times, values = view.host_history("cpu_busy_ratio", 30)
    np.testing.assert_allclose(np.diff(times), [10, 10])
    np.testing.assert_allclose(values[:, 0], [0.17, 0.18, 0.19], 1e-6)


def test_a_host_that_is_not_reporting_has_no_known_values() -> None:
    """Its newest values are unknown, in the window and elsewhere, but its history stays."""
    own: dict[Key, float] = {("cpu_busy_ratio", ()): 0.5, ("load_average", (("window", "1m"),)): 3.0}
    view = played(RecordedSample(0, "a", own), RecordedSample(0, "b", own), RecordedSample(5, "b", own))
    assert view.alive.tolist() == [False, True]
    np.testing.assert_equal(view.host("cpu_busy_ratio"), [np.nan, 0.5])
    np.testing.assert_equal(view.host("load_average", window="1m"), [np.nan, 3.0])
    assert view.host("cpu_busy_ratio", 10).tolist() == [0.5, 0.5]


def test_resources_have_their_own_subjects() -> None:
    """Devices of all hosts are in one array; windowed counters are rates; sums by host ignore unknown values."""
    disk = "disk_written_bytes_total"
    samples = [
        RecordedSample(n, "a", {(disk, (("device", "sda"),)): 100.0 * n, (disk, (("device", "sdb"),)): 10.0 * n})
        for n in range(4)
    ]
    view = played(*samples, RecordedSample(3, "b", {("cpu_busy_ratio", ()): 0.5}), counters=(disk,))
    assert [(s.host, s.resource) for s in view.resources(disk).names] == [("a", "sda"), ("a", "sdb")]
    assert view.resource(disk).tolist() == [100, 10]
    assert view.resource_count(disk).tolist() == [300, 30]
    sums = view.sum_by_host(view.resource(disk), view.resources(disk).hosts)
    np.testing.assert_equal(sums, [110, np.nan])
    np.testing.assert_equal(view.largest_by_host(view.resource(disk), view.resources(disk).hosts), [100, np.nan])


def test_subjects_stay_the_same_object_until_hosts_come_or_go() -> None:
    """Arrays along them need no copy even if layouts and positions change."""
    player = Player(recording([RecordedSample(n, host, power(1)) for n in range(3) for host in "ab"]))
    seen = [player.diagnosis.view.gpus for _ in player.play() if player.diagnosis.view is not None]
    assert all(one is seen[0] for one in seen)
