"""The last report of each XID: bounded, and in the collector's time."""

from flyball_collector.diagnosis.xid_times import MAX_OF_HOST, XidTimes
from flyball_collector.fleet.events import HostEvent
from flyball_collector.fleet.host import HostState

SECOND = 10**9


def host(*events: tuple[float, str, int], name: str = "a", skew: float | None = None) -> HostState:
    host_events = tuple(HostEvent(round(t * SECOND), "gpu_xid", gpu, code, "") for t, gpu, code in events)
    return HostState(name, events=host_events, clock_skew_seconds=skew)


def test_the_newest_of_each_code_counts() -> None:
    """This is by GPU and code. Other events are ignored, and an update without news changes nothing."""
    times = XidTimes()
    state = host((10, "GPU-1", 79), (20, "GPU-1", 79), (15, "GPU-1", 13), (12, "GPU-2", 79))
    state.events = (*state.events, HostEvent(30 * SECOND, "oom_kill", "GPU-1", 79, ""))
    for _ in range(2):
        times.update([state], 100.0)
        expected = [("a", "GPU-1", 79, 20.0), ("a", "GPU-1", 13, 15.0), ("a", "GPU-2", 79, 12.0)]
        assert sorted(times.all()) == sorted(expected)


def test_an_xid_is_kept_after_the_host_forgets_it() -> None:
    """A host keeps only its latest events; many others must not hide an XID."""
    times = XidTimes()
    state = host((10, "GPU-1", 79))
    times.update([state], 20.0)
    state.events = (HostEvent(15 * SECOND, "oom_kill", "", 0, ""),)
    times.update([state], 20.0)
    assert list(times.of("a")) == [("a", "GPU-1", 79, 10.0)]


def test_wrong_clocks_are_corrected() -> None:
    """A known skew is subtracted, and nothing is reported in the future."""
    times = XidTimes()
    times.update([host((1000, "GPU-1", 79), skew=400.0), host((1000, "GPU-1", 79), name="b")], 700.0)
    assert sorted(times.all()) == [("a", "GPU-1", 79, 600.0), ("b", "GPU-1", 79, 700.0)]


def test_the_table_is_bounded_for_each_host() -> None:
    """The oldest entries are dropped."""
    times = XidTimes()
    times.update([host(*((float(n), f"GPU-{n}", 79) for n in range(1000)))], 2000.0)
    kept = [seconds for _, _, _, seconds in times.all()]
    assert kept == [float(n) for n in range(1000 - MAX_OF_HOST, 1000)]


def test_hosts_that_left_are_forgotten() -> None:
    """Their entries are removed."""
    times = XidTimes()
    times.update([host((10, "GPU-1", 79)), host((10, "GPU-1", 79), name="b")], 20.0)
    times.update([host((10, "GPU-1", 79), name="b")], 21.0)
    assert [row[0] for row in times.all()] == ["b"]
