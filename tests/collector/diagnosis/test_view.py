"""The view: readings of the fleet as arrays along hosts, GPUs and resources."""

import numpy as np

from flyball_collector.diagnosis.view import View
from flyball_collector.engine.player import Key, Player, Sample, recording

GPU = (("gpu", "GPU-0"), ("index", "0"))
OTHER = (("gpu", "GPU-1"), ("index", "1"))


def power(watts: float, labels: tuple[tuple[str, str], ...] = GPU) -> dict[Key, float]:
    return {("gpu_power_watts", labels): watts}


def played(*samples: Sample, counters: tuple[str, ...] = ()) -> View:
    player = Player(recording(samples, counters))
    for _ in player.play():
        pass
    assert player.diagnosis.view is not None
    return player.diagnosis.view


def test_hosts_and_gpus_stand_in_order_with_their_newest_values() -> None:
    """Every GPU knows its host's position; what a host does not have is unknown."""
    view = played(Sample(0, "b", {**power(20, OTHER), **power(10)}), Sample(0, "a", {("cpu_busy_ratio", ()): 0.5}))
    assert [subject.host for subject in view.hosts.names] == ["a", "b"]
    assert [(subject.host, subject.gpu) for subject in view.gpus.names] == [("b", "GPU-0"), ("b", "GPU-1")]
    assert view.gpus.hosts.tolist() == [1, 1]
    assert view.gpu("gpu_power_watts").tolist() == [10, 20]
    np.testing.assert_equal(view.host("cpu_busy_ratio"), [0.5, np.nan])
    assert np.isnan(view.gpu("gpu_sm_clock_hertz")).all()


def test_a_reading_of_a_gpu_that_names_none_is_nobodys() -> None:
    """Agents declare what they like: it must not take the view from the others."""
    view = played(Sample(0, "a", {**power(10, ()), **power(20, (("index", "3"),))}), Sample(0, "b", power(30)))
    assert [(subject.host, subject.gpu) for subject in view.gpus.names] == [("b", "GPU-0")]
    assert view.gpu("gpu_power_watts").tolist() == [30]


def test_means_reach_back_by_the_inputs_seconds() -> None:
    """With a sample each 10 s the mean over a minute is of six samples, that of 10 s of one."""
    view = played(*(Sample(10.0 * n, "a", {("cpu_busy_ratio", ()): n / 100}) for n in range(20)))
    assert view.host("cpu_busy_ratio", 10)[0] == np.float32(0.19)
    np.testing.assert_allclose(view.host("cpu_busy_ratio", 60), np.mean([0.14, 0.15, 0.16, 0.17, 0.18, 0.19]), 1e-6)
    assert view.host_samples("cpu_busy_ratio", 60).tolist() == [6]
    times, values = view.host_history("cpu_busy_ratio", 30)
    np.testing.assert_allclose(np.diff(times), [10, 10])
    np.testing.assert_allclose(values[:, 0], [0.17, 0.18, 0.19], 1e-6)


def test_a_silent_host_knows_nothing() -> None:
    """Its newest values are unknown, of windowed and of other metrics, while its past stays."""
    own: dict[Key, float] = {("cpu_busy_ratio", ()): 0.5, ("load_average", (("window", "1m"),)): 3.0}
    view = played(Sample(0, "a", own), Sample(0, "b", own), Sample(5, "b", own))
    assert view.alive.tolist() == [False, True]
    np.testing.assert_equal(view.host("cpu_busy_ratio"), [np.nan, 0.5])
    np.testing.assert_equal(view.host("load_average", window="1m"), [np.nan, 3.0])
    assert view.host("cpu_busy_ratio", 10).tolist() == [0.5, 0.5]


def test_resources_have_subjects_of_their_own() -> None:
    """Devices of all hosts stand in one array; windowed counters are rates; sums by host leave the unknown out."""
    disk = "disk_written_bytes_total"
    samples = [
        Sample(n, "a", {(disk, (("device", "sda"),)): 100.0 * n, (disk, (("device", "sdb"),)): 10.0 * n})
        for n in range(4)
    ]
    view = played(*samples, Sample(3, "b", {("cpu_busy_ratio", ()): 0.5}), counters=(disk,))
    assert [(s.host, s.resource) for s in view.resources(disk).names] == [("a", "sda"), ("a", "sdb")]
    assert view.resource(disk).tolist() == [100, 10]
    assert view.resource_count(disk).tolist() == [300, 30]
    sums = view.sum_by_host(view.resource(disk), view.resources(disk).hosts)
    np.testing.assert_equal(sums, [110, np.nan])
    np.testing.assert_equal(view.largest_by_host(view.resource(disk), view.resources(disk).hosts), [100, np.nan])


def test_subjects_stay_the_same_object_while_nobody_comes_or_goes() -> None:
    """Arrays kept along them need no copy, though layouts and places change."""
    player = Player(recording([Sample(n, host, power(1)) for n in range(3) for host in "ab"]))
    seen = [player.diagnosis.view.gpus for _ in player.play() if player.diagnosis.view is not None]
    assert all(one is seen[0] for one in seen)
