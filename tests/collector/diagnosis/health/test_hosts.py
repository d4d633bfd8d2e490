"""Health of hosts: presence, clocks, agents, networks, file systems, OOM kills."""

import pytest

from flyball_collector.diagnosis.health.clock import ClockDetector
from flyball_collector.diagnosis.health.degraded_agent import DegradedDetector
from flyball_collector.diagnosis.health.duplicate_host import DuplicateDetector
from flyball_collector.diagnosis.health.gpu_not_reporting import GpuNotReportingDetector
from flyball_collector.diagnosis.health.host_reports import HostReports, quoted
from flyball_collector.diagnosis.health.infiniband import InfinibandDetector
from flyball_collector.diagnosis.health.network import NetworkDetector
from flyball_collector.diagnosis.health.oom_kill import OomKillDetector
from flyball_collector.diagnosis.health.presence import PresenceDetector
from flyball_collector.diagnosis.health.read_only_filesystem import ReadOnlyDetector
from flyball_collector.diagnosis.health.settings import HealthSettings
from flyball_collector.diagnosis.kinds import Severity
from flyball_collector.engine.testing.hosts import SimulatedFleet
from flyball_proto.unavailable_reading import Reason, UnavailableReading

SETTINGS = HealthSettings()


def presence() -> SimulatedFleet:
    fleet = SimulatedFleet(PresenceDetector(SETTINGS, HostReports()))
    fleet.host("a")
    fleet.host("b")
    fleet.step(3)
    return fleet


def test_a_host_without_records_has_a_gap_and_without_a_connection_is_lost() -> None:
    """Ten seconds make a gap. Thirty without a connection make a loss, which explains the gap.

    Its return clears both.
    """
    fleet = presence()
    fleet.not_reporting.add("a")
    fleet.host("a").connected = False
    assert fleet.kinds(9) == []
    assert fleet.kinds(3) == ["data_gap raised"]
    assert fleet.kinds(25) == ["host_lost raised", "data_gap cleared"]
    assert fleet.kinds(600) == []
    fleet.not_reporting.clear()
    fleet.host("a").connected = True
    assert fleet.kinds(10) == ["host_lost cleared"]


def test_an_open_connection_without_records_is_only_a_gap() -> None:
    """A host with an open stream is not lost, however long it sends nothing."""
    fleet = presence()
    fleet.not_reporting.add("a")
    assert fleet.kinds(120) == ["data_gap raised"]
    fleet.not_reporting.clear()
    assert fleet.kinds(10) == ["data_gap cleared"]


def test_a_goodbye_is_not_a_loss() -> None:
    """An agent that was stopped is not lost and leaves no gap."""
    fleet = presence()
    fleet.not_reporting.add("a")
    fleet.host("a").connected, fleet.host("a").goodbye = False, True
    assert fleet.kinds(120) == []


def test_an_agent_that_returns_after_its_goodbye_has_no_gap_until_it_stops_again() -> None:
    """Its hello cancels the goodbye before its first record; from then on, the usual times apply."""
    fleet = presence()
    fleet.not_reporting.add("a")
    fleet.host("a").connected, fleet.host("a").goodbye = False, True
    assert fleet.kinds(28) == []
    fleet.host("a").connected, fleet.host("a").goodbye = True, False
    assert fleet.kinds(2) == []
    fleet.not_reporting.clear()
    assert fleet.kinds(60) == []
    fleet.not_reporting.add("a")
    assert fleet.kinds(12) == ["data_gap raised"]


def test_an_agent_that_sends_only_its_hello_has_a_gap() -> None:
    """After an orderly restart, the time without records counts from the hello."""
    fleet = presence()
    fleet.not_reporting.add("a")
    fleet.host("a").connected, fleet.host("a").goodbye = False, True
    assert fleet.kinds(300) == []
    fleet.host("a").connected, fleet.host("a").goodbye = True, False
    assert fleet.kinds(9) == []
    [gap] = fleet.step(3)
    assert gap.because == "no record for 11 s; the agent did not shut down"


def test_a_host_with_a_long_interval_gets_more_time() -> None:
    """With an interval of ten seconds, a gap begins after fifty."""
    fleet = presence()
    fleet.host("a").interval_ms = 10_000
    fleet.not_reporting.add("a")
    assert fleet.kinds(45) == []
    assert fleet.kinds(10) == ["data_gap raised"]


def test_a_host_that_died_while_the_collector_was_down_is_lost() -> None:
    """It is known only from the store, has no window, and does not return in its time: this is reported."""
    fleet = presence()
    gone = fleet.fleet.ensure("gone")
    gone.agent_version, gone.received_ns = "1.2.3", int((fleet.now - 3600) * 1e9)
    assert fleet.kinds(9) == []
    events = fleet.step(40)
    assert [(e.kind.name, e.state.value, e.subject.host) for e in events if e.subject.host == "gone"] == [
        ("data_gap", "raised", "gone"),
        ("host_lost", "raised", "gone"),
        ("data_gap", "cleared", "gone"),
    ]


def test_a_starting_collector_does_not_blame_hosts_for_what_it_missed() -> None:
    """Hosts known from the store get time to return, and so do all hosts after a pause of the collector."""
    fleet = presence()
    fleet.now += 3600
    assert fleet.kinds(5) == []
    fleet.not_reporting |= {"a"}
    fleet.host("a").connected = False
    fleet.now += 3600
    assert fleet.kinds(8) == []
    assert fleet.kinds(40) == ["data_gap raised", "host_lost raised", "data_gap cleared"]


def test_a_wrong_clock_is_reported_with_its_direction() -> None:
    """A skew beyond the threshold for a minute raises; it clears below 0.8 of the threshold."""
    fleet = SimulatedFleet(ClockDetector(SETTINGS))
    fleet.host("a").clock_skew_seconds = 0.05
    fleet.host("b").clock_skew_seconds = None
    assert fleet.kinds(70) == []
    fleet.host("a").clock_skew_seconds = -2.5
    [event] = fleet.step(70)
    assert "2.5 s behind" in event.because
    fleet.host("a").clock_skew_seconds = 0.09
    assert fleet.kinds(100) == []
    fleet.host("a").clock_skew_seconds = 0.01
    assert fleet.kinds(70) == ["clock_skew cleared"]


@pytest.mark.parametrize(
    ("skew", "words"),
    [(0.153, "0.153 s ahead"), (-59.7, "59.7 s behind"), (3600.2, "1 h ahead"), (-7 * 86_400, "7 days behind")],
)
def test_clock_errors_are_formatted_as_durations(skew: float, words: str) -> None:
    """Fractions of a second are shown for short times; minutes, hours and days for long ones."""
    fleet = SimulatedFleet(ClockDetector(SETTINGS))
    fleet.host("a").clock_skew_seconds = skew
    [event] = fleet.step(70)
    assert f"the clock is {words} of the collector's" in event.because


def test_two_machines_with_one_name_are_reported() -> None:
    """The flag of the ingest raises and clears."""
    fleet = SimulatedFleet(DuplicateDetector())
    fleet.host("a")
    assert fleet.kinds(3) == []
    fleet.host("a").duplicate = True
    assert fleet.kinds() == ["duplicate_host raised"]
    fleet.host("a").duplicate = False
    assert fleet.kinds(65) == ["duplicate_host cleared"]


def test_an_agent_that_cannot_write_or_loses_records_is_degraded() -> None:
    """The spool's flag or new losses raise; old losses do not."""
    fleet = SimulatedFleet(DegradedDetector())
    fleet.set("agent_spool_degraded", 0)
    fleet.set("agent_records_lost_total", 40)
    assert fleet.kinds(15) == []
    fleet.set("agent_spool_degraded", 1)
    assert fleet.kinds(15) == ["agent_degraded raised"]
    fleet.set("agent_spool_degraded", 0)
    assert fleet.kinds(65) == ["agent_degraded cleared"]
    fleet.set("agent_records_lost_total", 45)
    assert fleet.kinds(15) == ["agent_degraded raised"]
    assert fleet.kinds(400) == ["agent_degraded cleared"]


def test_a_driver_that_does_not_respond_is_reported_with_its_reason() -> None:
    """Timed out and failed count; absent, denied, single metrics and single GPUs (reported as lost) do not."""
    fleet = SimulatedFleet(GpuNotReportingDetector(HostReports()))
    state = fleet.host("a")
    harmless = (
        UnavailableReading("nvidia", "", "", Reason.ABSENT),
        UnavailableReading("amd", "", "", Reason.DENIED),
        UnavailableReading("nvidia", "gpu_fan_speed_ratio", "GPU-0", Reason.FAILED),
        UnavailableReading("nvidia", "", "index 1", Reason.FAILED, "the GPU is lost"),
        UnavailableReading("disk", "", "", Reason.FAILED),
    )
    state.unavailable = harmless
    assert fleet.kinds(40) == []
    state.unavailable = (
        *harmless,
        UnavailableReading("nvidia", "", "", Reason.TIMED_OUT, "hangs\x1b[31m", "restart the driver"),
    )
    [event] = fleet.step(40)
    assert "timed out" in event.because
    assert "restart the driver" in event.because
    assert "\x1b" not in event.because
    state.unavailable = ()
    assert fleet.kinds(65) == ["gpu_not_reporting cleared"]


def test_three_link_downs_in_twelve_hours_are_flapping() -> None:
    """Old downs and only two do not count; the count is for each port."""
    fleet = SimulatedFleet(InfinibandDetector(SETTINGS))
    name, port = "infiniband_link_downs_total", {"device": "mlx5_0", "port": "1"}
    fleet.set(name, 90, **port)
    assert fleet.kinds(5) == []
    for count in (91, 92):
        fleet.set(name, count, **port)
        assert fleet.kinds(60) == []
    fleet.set(name, 93, **port)
    [event] = fleet.step(2)
    assert (event.subject.resource, event.evidence["link_downs"]) == ("mlx5_0/1", 3)
    fleet.now += 43_200
    assert fleet.kinds(1000) == ["infiniband_flap cleared"]


def test_after_a_restart_a_flapping_port_stays_active_for_the_whole_time() -> None:
    """The earlier counts are gone, so it is unknown whether the port is fine now."""
    before = SimulatedFleet(InfinibandDetector(SETTINGS))
    port = {"device": "mlx5_0", "port": "1"}
    for count in range(4):
        before.set("infiniband_link_downs_total", count, **port)
        events = before.step(2)
    after = SimulatedFleet(InfinibandDetector(SETTINGS))
    after.set("infiniband_link_downs_total", 4, **port)
    after.diagnosis.conditions.load(events, int(after.now * 1e9))
    assert after.kinds(2000) == []
    after.now += 43_200
    assert after.kinds(700) == ["infiniband_flap cleared"]


def test_a_port_that_stays_down_is_critical_and_one_never_up_is_unused() -> None:
    """25 seconds down after it was active is critical; a port without a cable is fine."""
    fleet = SimulatedFleet(InfinibandDetector(SETTINGS))
    for port, state in (("1", 4), ("2", 1)):
        fleet.set("infiniband_link_downs_total", 0, device="mlx5_0", port=port)
        fleet.set("infiniband_state", state, device="mlx5_0", port=port)
    assert fleet.kinds(60) == []
    fleet.set("infiniband_state", 1, device="mlx5_0", port="1")
    assert fleet.kinds(20) == []
    [event] = fleet.step(10)
    assert (event.subject.resource, event.severity) == ("mlx5_0/1", Severity.CRITICAL)


class Traffic:
    """Ten thousand packets in each direction and as many segments a second, with faults."""

    def __init__(self) -> None:
        self.fleet = SimulatedFleet(NetworkDetector(SETTINGS))
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
        found: list[str] = []
        for _ in range(seconds):
            for name, each in grows.items():
                self._counts[name] = self._counts.get(name, 0) + each
                labels = {} if name.startswith("tcp") else {"interface": "eth0"}
                self.fleet.set(name, self._counts[name], **labels)
            found += [f"{e.kind.name} {e.state} {e.subject.resource}" for e in self.fleet.step()]
        return found


def test_damaged_packets_count_by_their_share() -> None:
    """A few of many do not count; a ten-thousandth is a fault of the interface, which clears when it stops."""
    traffic = Traffic()
    assert traffic.go(120) == []
    assert traffic.go(120, errors=1) == []
    assert traffic.go(100, errors=10) == ["network_errors raised eth0"]
    assert traffic.go(150) == ["network_errors cleared eth0"]


def test_drops_and_retransmissions_count_too() -> None:
    """Drops belong to the interface, TCP loss to the host; shares of little traffic do not count."""
    traffic = Traffic()
    assert traffic.go(100, packets=1, drops=1, resent=1) == []
    assert traffic.go(200) == []
    assert traffic.go(100, drops=100) == ["network_errors raised eth0"]
    traffic.go(200)
    assert traffic.go(100, resent=500) == ["network_errors raised tcp"]
    traffic.fleet.fleet.remove("a")
    traffic.fleet.not_reporting.add("a")
    traffic.fleet.host("b")
    assert traffic.fleet.kinds(10) == ["network_errors cleared"]


def test_a_file_system_that_becomes_read_only_is_reported() -> None:
    """Images are read-only by design and not reported; a disk that was writable is."""
    fleet = SimulatedFleet(ReadOnlyDetector())
    fleet.set("filesystem_read_only", 1, mount="/snap/core")
    fleet.set("filesystem_read_only", 0, mount="/data")
    assert fleet.kinds(5) == []
    fleet.set("filesystem_read_only", 1, mount="/data")
    [event] = fleet.step()
    assert (event.subject.resource, event.severity) == ("/data", Severity.CRITICAL)
    fleet.set("filesystem_read_only", 0, mount="/data")
    assert fleet.kinds(65) == ["filesystem_read_only cleared"]


def test_after_a_restart_a_read_only_file_system_stays_active() -> None:
    """The collector did not see it writable; the condition stays active until it does."""
    before = SimulatedFleet(ReadOnlyDetector())
    before.set("filesystem_read_only", 0, mount="/data")
    before.step()
    before.set("filesystem_read_only", 1, mount="/data")
    events = before.step()
    after = SimulatedFleet(ReadOnlyDetector())
    after.set("filesystem_read_only", 1, mount="/data")
    after.diagnosis.conditions.load(events, int(after.now * 1e9))
    assert after.kinds(1200) == []
    after.set("filesystem_read_only", 0, mount="/data")
    assert after.kinds(65) == ["filesystem_read_only cleared"]


def test_an_oom_kill_is_reported_once() -> None:
    """Growth of the counter counts, not its value; a restart of the counter does not; it clears after a while."""
    fleet = SimulatedFleet(OomKillDetector(HostReports()))
    fleet.set("oom_kills_total", 12)
    assert fleet.kinds(5) == []
    fleet.set("oom_kills_total", 0)
    assert fleet.kinds(5) == []
    fleet.set("oom_kills_total", 2)
    [event] = fleet.step(60)
    assert event.evidence["kills"] == 2
    assert "of the host" in event.because
    assert fleet.kinds(1000) == ["oom_kill cleared"]


def test_a_kill_in_the_control_group_and_one_from_an_event_count() -> None:
    """A container's limit kills too; the victim's name is quoted, shortened and without control characters."""
    fleet = SimulatedFleet(OomKillDetector(HostReports()))
    fleet.set("cgroup_oom_kills_total", 0)
    fleet.step()
    fleet.set("cgroup_oom_kills_total", 1)
    [event] = fleet.step()
    assert "control group" in event.because
    fleet.host("b")
    fleet.add_event("oom_kill", host="b", resource="python\n<script>" + "x" * 500)
    [event] = fleet.step()
    assert "“python�<script>xx" in event.because
    assert len(event.because) < 300


def test_an_old_kill_that_is_read_again_is_not_new() -> None:
    """Events count by their own time."""
    fleet = SimulatedFleet(OomKillDetector(HostReports()))
    fleet.add_event("oom_kill", resource="python", ago=3000)
    assert fleet.kinds(5) == []


def test_text_from_hosts_is_shortened_and_plain() -> None:
    """Any text from a host becomes part of one line."""
    assert quoted("a\x00b\nc\u202ed") == "“a�b�c�d”"
    assert len(quoted("x" * 10_000)) < 130
