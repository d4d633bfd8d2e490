"""Health of hosts: presence, clocks, agents, networks, file systems, kills."""

import pytest

from flyball_collector.diagnosis.health.clock import ClockDetector
from flyball_collector.diagnosis.health.degraded import DegradedDetector
from flyball_collector.diagnosis.health.duplicate import DuplicateDetector
from flyball_collector.diagnosis.health.gpu_not_reporting import GpuNotReportingDetector
from flyball_collector.diagnosis.health.host_reports import HostReports, quoted
from flyball_collector.diagnosis.health.infiniband import InfinibandDetector
from flyball_collector.diagnosis.health.network import NetworkDetector
from flyball_collector.diagnosis.health.oom_kill import OomKillDetector
from flyball_collector.diagnosis.health.presence import PresenceDetector
from flyball_collector.diagnosis.health.read_only import ReadOnlyDetector
from flyball_collector.diagnosis.health.settings import HealthSettings
from flyball_collector.diagnosis.kinds import Severity
from flyball_collector.engine.testing.hosts import Stage
from flyball_proto.unavailable_reading import Reason, UnavailableReading

SETTINGS = HealthSettings()


def presence() -> Stage:
    on = Stage(PresenceDetector(SETTINGS, HostReports()))
    on.host("a")
    on.host("b")
    on.step(3)
    return on


def test_a_host_that_falls_silent_has_a_gap_and_without_a_connection_is_lost() -> None:
    """Ten seconds make a gap, thirty without a connection a loss, which explains the gap; its return clears."""
    on = presence()
    on.mute.add("a")
    on.host("a").connected = False
    assert on.kinds(9) == []
    assert on.kinds(3) == ["data_gap raised"]
    assert on.kinds(25) == ["host_lost raised", "data_gap cleared"]
    assert on.kinds(600) == []
    on.mute.clear()
    on.host("a").connected = True
    assert on.kinds(10) == ["host_lost cleared"]


def test_an_open_connection_without_records_is_a_gap_only() -> None:
    """A host whose stream stands is not lost, however long it is silent."""
    on = presence()
    on.mute.add("a")
    assert on.kinds(120) == ["data_gap raised"]
    on.mute.clear()
    assert on.kinds(10) == ["data_gap cleared"]


def test_a_goodbye_is_no_loss() -> None:
    """An agent that was stopped is neither lost nor leaves a gap."""
    on = presence()
    on.mute.add("a")
    on.host("a").connected, on.host("a").said_goodbye = False, True
    assert on.kinds(120) == []


def test_an_agent_that_comes_back_after_its_goodbye_has_no_gap_until_it_falls_silent() -> None:
    """Its hello takes the goodbye back before its first record comes; from then on it has the time of any other."""
    on = presence()
    on.mute.add("a")
    on.host("a").connected, on.host("a").said_goodbye = False, True
    assert on.kinds(28) == []
    on.host("a").connected, on.host("a").said_goodbye = True, False
    assert on.kinds(2) == []
    on.mute.clear()
    assert on.kinds(60) == []
    on.mute.add("a")
    assert on.kinds(12) == ["data_gap raised"]


def test_an_agent_that_says_hello_and_nothing_more_has_a_gap() -> None:
    """After an orderly restart, unavailable reading counts from the hello on."""
    on = presence()
    on.mute.add("a")
    on.host("a").connected, on.host("a").said_goodbye = False, True
    assert on.kinds(300) == []
    on.host("a").connected, on.host("a").said_goodbye = True, False
    assert on.kinds(9) == []
    [gap] = on.step(3)
    assert gap.because == "no record for 11 s, and no goodbye"


def test_a_host_that_samples_seldom_is_given_time() -> None:
    """With an interval of ten seconds a gap begins after fifty."""
    on = presence()
    on.host("a").interval_ms = 10_000
    on.mute.add("a")
    assert on.kinds(45) == []
    assert on.kinds(10) == ["data_gap raised"]


def test_a_host_that_died_while_the_collector_was_away_is_lost() -> None:
    """It is known from the store alone, has no window, and does not come back in its time: that is told."""
    on = presence()
    gone = on.fleet.ensure("gone")
    gone.agent_version, gone.received_ns = "1.2.3", int((on.now - 3600) * 1e9)
    assert on.kinds(9) == []
    events = on.step(40)
    assert [(e.kind.name, e.state.value, e.subject.host) for e in events if e.subject.host == "gone"] == [
        ("data_gap", "raised", "gone"),
        ("host_lost", "raised", "gone"),
        ("data_gap", "cleared", "gone"),
    ]


def test_a_collector_that_starts_blames_nobody_for_what_it_missed() -> None:
    """Hosts that are known from the store have time to come back; so have all when the collector itself stood."""
    on = presence()
    on.now += 3600
    assert on.kinds(5) == []
    on.mute |= {"a"}
    on.host("a").connected = False
    on.now += 3600
    assert on.kinds(8) == []
    assert on.kinds(40) == ["data_gap raised", "host_lost raised", "data_gap cleared"]


def test_a_wrong_clock_is_told_with_its_direction() -> None:
    """A skew beyond the threshold for a minute; it clears below 0.8 of it."""
    on = Stage(ClockDetector(SETTINGS))
    on.host("a").clock_skew_seconds = 0.05
    on.host("b").clock_skew_seconds = None
    assert on.kinds(70) == []
    on.host("a").clock_skew_seconds = -2.5
    [event] = on.step(70)
    assert "2.5 s behind" in event.because
    on.host("a").clock_skew_seconds = 0.09
    assert on.kinds(100) == []
    on.host("a").clock_skew_seconds = 0.01
    assert on.kinds(70) == ["clock_skew cleared"]


@pytest.mark.parametrize(
    ("skew", "words"),
    [(0.153, "0.153 s ahead"), (-59.7, "59.7 s behind"), (3600.2, "60 min ahead"), (-7 * 86_400, "7 d behind")],
)
def test_how_wrong_a_clock_is_reads_as_other_durations_do(skew: float, words: str) -> None:
    """Parts of a second where they count; minutes, hours and days instead of thousands of seconds."""
    on = Stage(ClockDetector(SETTINGS))
    on.host("a").clock_skew_seconds = skew
    [event] = on.step(70)
    assert f"its clock is {words} of the collector's" in event.because


def test_two_machines_under_one_name_are_told() -> None:
    """The ingest's flag raises and clears."""
    on = Stage(DuplicateDetector())
    on.host("a")
    assert on.kinds(3) == []
    on.host("a").duplicate = True
    assert on.kinds() == ["duplicate_host raised"]
    on.host("a").duplicate = False
    assert on.kinds(65) == ["duplicate_host cleared"]


def test_an_agent_that_cannot_write_or_loses_records_is_degraded() -> None:
    """The spool's flag, or new losses; old losses are history."""
    on = Stage(DegradedDetector())
    on.set("agent_spool_degraded", 0)
    on.set("agent_records_lost_total", 40)
    assert on.kinds(15) == []
    on.set("agent_spool_degraded", 1)
    assert on.kinds(15) == ["agent_degraded raised"]
    on.set("agent_spool_degraded", 0)
    assert on.kinds(65) == ["agent_degraded cleared"]
    on.set("agent_records_lost_total", 45)
    assert on.kinds(15) == ["agent_degraded raised"]
    assert on.kinds(400) == ["agent_degraded cleared"]


def test_a_driver_that_does_not_answer_is_told_with_its_reason() -> None:
    """Timed out and failed count; absent, denied, single metrics and single GPUs (which are told as lost) do not."""
    on = Stage(GpuNotReportingDetector(HostReports()))
    state = on.host("a")
    harmless = (
        UnavailableReading("nvidia", "", "", Reason.ABSENT),
        UnavailableReading("amd", "", "", Reason.DENIED),
        UnavailableReading("nvidia", "gpu_fan_speed_ratio", "GPU-0", Reason.FAILED),
        UnavailableReading("nvidia", "", "index 1", Reason.FAILED, "the GPU is lost"),
        UnavailableReading("disk", "", "", Reason.FAILED),
    )
    state.unavailable = harmless
    assert on.kinds(40) == []
    state.unavailable = (
        *harmless,
        UnavailableReading("nvidia", "", "", Reason.TIMED_OUT, "hangs\x1b[31m", "restart the driver"),
    )
    [event] = on.step(40)
    assert "timed out" in event.because
    assert "restart the driver" in event.because
    assert "\x1b" not in event.because
    state.unavailable = ()
    assert on.kinds(65) == ["gpu_not_reporting cleared"]


def test_three_link_downs_in_twelve_hours_are_flapping() -> None:
    """Old ones and two are not; the count is of the port."""
    on = Stage(InfinibandDetector(SETTINGS))
    name, port = "infiniband_link_downs_total", {"device": "mlx5_0", "port": "1"}
    on.set(name, 90, **port)
    assert on.kinds(5) == []
    for count in (91, 92):
        on.set(name, count, **port)
        assert on.kinds(60) == []
    on.set(name, 93, **port)
    [event] = on.step(2)
    assert (event.subject.resource, event.evidence["link_downs"]) == ("mlx5_0/1", 3)
    on.now += 43_200
    assert on.kinds(1000) == ["infiniband_flap cleared"]


def test_after_a_restart_a_flapping_port_stands_until_as_long_was_watched() -> None:
    """The counts of before are gone; nobody says that the port is well now."""
    before = Stage(InfinibandDetector(SETTINGS))
    port = {"device": "mlx5_0", "port": "1"}
    for count in range(4):
        before.set("infiniband_link_downs_total", count, **port)
        events = before.step(2)
    after = Stage(InfinibandDetector(SETTINGS))
    after.set("infiniband_link_downs_total", 4, **port)
    after.diagnosis.conditions.load(events, int(after.now * 1e9))
    assert after.kinds(2000) == []
    after.now += 43_200
    assert after.kinds(700) == ["infiniband_flap cleared"]


def test_a_port_that_goes_down_and_stays_is_critical_and_one_never_up_is_unused() -> None:
    """25 seconds down after it was active; a port without a cable is no fault."""
    on = Stage(InfinibandDetector(SETTINGS))
    for port, state in (("1", 4), ("2", 1)):
        on.set("infiniband_link_downs_total", 0, device="mlx5_0", port=port)
        on.set("infiniband_state", state, device="mlx5_0", port=port)
    assert on.kinds(60) == []
    on.set("infiniband_state", 1, device="mlx5_0", port="1")
    assert on.kinds(20) == []
    [event] = on.step(10)
    assert (event.subject.resource, event.severity) == ("mlx5_0/1", Severity.CRITICAL)


class Traffic:
    """Ten thousand packets each way and as many segments a second, with so many faults a second."""

    def __init__(self) -> None:
        self.on = Stage(NetworkDetector(SETTINGS))
        self._counts: dict[str, float] = {}

    def go(
        self, seconds: int, *, packets: float = 10_000, errors: float = 0, drops: float = 0, resent: float = 0
    ) -> list[str]:
        grows = {
            "network_received_packets_total": packets,
            "network_sent_packets_total": packets,
            "network_received_errors_total": errors,
            "network_sent_errors_total": 0,
            "network_received_drops_total": drops,
            "network_sent_drops_total": 0,
            "tcp_sent_segments_total": packets,
            "tcp_retransmitted_segments_total": resent,
        }
        told: list[str] = []
        for _ in range(seconds):
            for name, each in grows.items():
                self._counts[name] = self._counts.get(name, 0) + each
                labels = {} if name.startswith("tcp") else {"interface": "eth0"}
                self.on.set(name, self._counts[name], **labels)
            told += [f"{e.kind.name} {e.state} {e.subject.resource}" for e in self.on.step()]
        return told


def test_damaged_packets_count_by_their_share() -> None:
    """A few in many are nothing; a ten-thousandth is a fault of the interface, which clears when it stops."""
    traffic = Traffic()
    assert traffic.go(120) == []
    assert traffic.go(120, errors=1) == []
    assert traffic.go(100, errors=10) == ["network_errors raised eth0"]
    assert traffic.go(150) == ["network_errors cleared eth0"]


def test_drops_and_retransmissions_count_too() -> None:
    """Drops are the interface's, loss of TCP is the host's; a share of little traffic is no share."""
    traffic = Traffic()
    assert traffic.go(100, packets=1, drops=1, resent=1) == []
    assert traffic.go(200) == []
    assert traffic.go(100, drops=100) == ["network_errors raised eth0"]
    traffic.go(200)
    assert traffic.go(100, resent=500) == ["network_errors raised tcp"]
    traffic.on.fleet.remove("a")
    traffic.on.mute.add("a")
    traffic.on.host("b")
    assert traffic.on.kinds(10) == ["network_errors cleared"]


def test_a_file_system_that_the_kernel_closes_is_told_and_one_that_was_never_open_is_not() -> None:
    """Images are read-only by design; a disk that was writable is not."""
    on = Stage(ReadOnlyDetector())
    on.set("filesystem_read_only", 1, mount="/snap/core")
    on.set("filesystem_read_only", 0, mount="/data")
    assert on.kinds(5) == []
    on.set("filesystem_read_only", 1, mount="/data")
    [event] = on.step()
    assert (event.subject.resource, event.severity) == ("/data", Severity.CRITICAL)
    on.set("filesystem_read_only", 0, mount="/data")
    assert on.kinds(65) == ["filesystem_read_only cleared"]


def test_after_a_restart_a_closed_file_system_stays_told() -> None:
    """The collector did not see it open; what stood, stands, until it is seen open."""
    before = Stage(ReadOnlyDetector())
    before.set("filesystem_read_only", 0, mount="/data")
    before.step()
    before.set("filesystem_read_only", 1, mount="/data")
    events = before.step()
    after = Stage(ReadOnlyDetector())
    after.set("filesystem_read_only", 1, mount="/data")
    after.diagnosis.conditions.load(events, int(after.now * 1e9))
    assert after.kinds(1200) == []
    after.set("filesystem_read_only", 0, mount="/data")
    assert after.kinds(65) == ["filesystem_read_only cleared"]


def test_a_kill_for_want_of_memory_is_told_once() -> None:
    """Growth of the counter counts, not its level; a restart of the counter is no kill; it clears after a while."""
    on = Stage(OomKillDetector(HostReports()))
    on.set("oom_kills_total", 12)
    assert on.kinds(5) == []
    on.set("oom_kills_total", 0)
    assert on.kinds(5) == []
    on.set("oom_kills_total", 2)
    [event] = on.step(60)
    assert event.evidence["kills"] == 2
    assert "of the host" in event.because
    assert on.kinds(1000) == ["oom_kill cleared"]


def test_a_kill_of_the_control_group_and_one_that_an_event_tells_count() -> None:
    """A container's limit kills too; the victim's name is quoted, bounded and without control characters."""
    on = Stage(OomKillDetector(HostReports()))
    on.set("cgroup_oom_kills_total", 0)
    on.step()
    on.set("cgroup_oom_kills_total", 1)
    [event] = on.step()
    assert "control group" in event.because
    on.host("b")
    on.tell("oom_kill", host="b", resource="python\n<script>" + "x" * 500)
    [event] = on.step()
    assert "“python�<script>xx" in event.because
    assert len(event.because) < 300


def test_an_old_kill_that_is_read_again_is_no_new_one() -> None:
    """Events count by their own time."""
    on = Stage(OomKillDetector(HostReports()))
    on.tell("oom_kill", resource="python", ago=3000)
    assert on.kinds(5) == []


def test_words_of_hosts_are_bounded_and_plain() -> None:
    """Whatever a host says becomes a piece of one line."""
    assert quoted("a\x00b\nc\u202ed") == "“a�b�c�d”"
    assert len(quoted("x" * 10_000)) < 130
