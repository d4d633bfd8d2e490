"""The input of scores: smoothing, holding, rates, cores, steps."""

import math
from collections.abc import Iterator

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from flyball_agent.probes.latency import LatencyProbe
from flyball_collector.diagnosis.scores.cores import Cores
from flyball_collector.diagnosis.scores.rates import Rates
from flyball_collector.diagnosis.scores.signal_list import SIGNALS
from flyball_collector.diagnosis.scores.signals import MEDIAN_OF, Signals, median_with
from flyball_collector.diagnosis.view import View
from flyball_collector.engine.engine import Diagnosis
from flyball_collector.engine.player import Key, Player, RecordedSample, recording
from flyball_collector.engine.settings import DiagnosisSettings
from flyball_proto.v1 import telemetry_pb2 as pb

BUSY: Key = ("cpu_busy_ratio", ())
LATENCY: Key = ("latency_seconds", (("target", "db:1"),))


def views(samples: list[RecordedSample], *counters: str) -> Iterator[View]:
    """Yield the view of each second. A view is valid until the next one."""
    player = Player(recording(samples, counters))
    player.diagnosis = Diagnosis(player.fleet, DiagnosisSettings(), [])
    for _ in player.play():
        assert player.diagnosis.view is not None
        yield player.diagnosis.view


def updated(samples: list[RecordedSample], *counters: str) -> Signals:
    """Return signals after an update with each of these samples."""
    signals = Signals(2.5)
    for view in views(samples, *counters):
        signals.update(view)
    return signals


def report(steps: int, **sections: float) -> list[pb.StepReport]:
    return [
        pb.StepReport(
            run="r", steps=steps, step_seconds=1.0, section_seconds=sections, data_wait_seconds=sections.get("data")
        )
    ]


def test_signals_have_unique_names() -> None:
    """Each occurs once and has a meaning."""
    assert len({signal.name for signal in SIGNALS}) == len(SIGNALS)
    assert all(signal.meaning for signal in SIGNALS)


@given(st.lists(st.lists(st.sampled_from([math.nan, *range(5)]), min_size=3, max_size=3), max_size=12))
def test_the_median_is_that_of_the_latest_five_known_readings(seconds: list[list[float]]) -> None:
    """Of an even number, it is the lower one; each host has its own number of readings."""
    recent, known = np.full((3, MEDIAN_OF), np.nan, order="F"), [list[float]() for _ in range(3)]
    for values in seconds:
        found = median_with(recent, np.array(values), ~np.isnan(values))
        for host, value in enumerate(values):
            known[host] += [] if math.isnan(value) else [value]
        latest = [sorted(readings[-MEDIAN_OF:]) for readings in known]
        middles = [readings[(len(readings) - 1) // 2] if readings else math.nan for readings in latest]
        np.testing.assert_array_equal(found, middles)


def test_a_change_counts_within_seconds_at_any_interval() -> None:
    """After one time constant, two thirds count; with a sample a minute, only the newest one counts."""
    steady = [RecordedSample(n, "a", {BUSY: 0.0}) for n in range(20)]
    found = updated([*steady, *(RecordedSample(20.0 + n, "a", {BUSY: 1.0}) for n in range(5))])
    np.testing.assert_allclose(found["cpu_busy"], 1 - np.exp(-5 / 2.5), rtol=1e-3)
    found = updated([RecordedSample(57.0 * n, "a", {BUSY: float(n == 3)}) for n in range(4)])
    np.testing.assert_allclose(found["cpu_busy"], 1.0, rtol=1e-3)


def test_single_late_round_trips_do_not_count() -> None:
    """A busy machine responds late at times; a longer way takes longer each time."""
    late = updated([RecordedSample(n, "a", {LATENCY: 0.05 if n % 5 == 0 else 0.001}) for n in range(24)])
    assert late["latency"][0] < 0.002
    far = updated([RecordedSample(n, "a", {LATENCY: 0.05 if n > 10 else 0.001}) for n in range(24)])
    assert far["latency"][0] > 0.045
    assert far.growth_of("latency")[0] > 40


def test_single_early_round_trips_do_not_end_a_high_latency() -> None:
    """The queue of a full link is empty at times, even for two seconds in a row; three readings end it."""
    full = updated([RecordedSample(n, "a", {LATENCY: 0.001 if n < 10 or n % 6 < 2 else 0.05}) for n in range(44)])
    np.testing.assert_allclose(full["latency"], 0.05)
    over = updated([RecordedSample(n, "a", {LATENCY: 0.05 if 10 < n < 37 else 0.001}) for n in range(40)])
    np.testing.assert_allclose(over["latency"], 0.001)


def test_only_connecting_counts_as_the_way_to_an_http_target() -> None:
    """Its whole request is the service's work as well; that of an agent which does not know the parts is mixed."""

    def key(metric: str, target: str) -> Key:
        return f"latency_{metric}", (("target", target),)

    slow, old = "http://slow/", "https://old/"
    readings: dict[Key, float] = {
        key("seconds", "localhost"): 0.9,
        key("seconds", slow): 0.5,
        key("connect_seconds", slow): 0.003,
        key("answer_seconds", slow): 0.403,
        key("seconds", "db:1"): 0.002,
    }
    found = updated([RecordedSample(n, "a", readings) for n in range(8)])
    np.testing.assert_allclose([found["latency"][0], found["answer"][0]], [0.003, 0.4], atol=1e-5)
    assert np.isnan(found["mixed_latency"][0])
    mixed = updated([RecordedSample(n, "a", {**readings, key("seconds", old): 0.7}) for n in range(8)])
    np.testing.assert_allclose([mixed["latency"][0], mixed["mixed_latency"][0]], [0.003, 0.7], atol=1e-5)


def test_an_http_target_that_cannot_be_reached_is_unknown() -> None:
    """Its columns show that the agent measures the parts: a request of before must not count in their place."""
    target = (("target", "http://x/"),)
    known: dict[Key, float] = {("latency_seconds", target): 0.5, ("latency_connect_seconds", target): 0.001}
    lost: dict[Key, float] = {("latency_seconds", target): 0.5}
    found = updated([RecordedSample(n, "a", known if n < 2 else lost) for n in range(30)])
    assert np.isnan([found["latency"][0], found["mixed_latency"][0]]).all()


def test_signals_that_become_unknown_are_held_for_a_while() -> None:
    """This is ten seconds, or a minute for steps, which may be long."""
    samples = [RecordedSample(n, "a", {BUSY: 0.5, LATENCY: 0.001}, report(5, data=0.4, forward=0.6)) for n in range(5)]
    quiet = [RecordedSample(5.0 + n, "a", {LATENCY: 0.001}) for n in range(70)]
    shortly = updated([*samples, *quiet[:8]])
    np.testing.assert_allclose([shortly["cpu_busy"][0], shortly["data_share"][0]], [0.5, 0.4], rtol=1e-3)
    later = updated([*samples, *quiet[:20]])
    assert np.isnan(later["cpu_busy"][0])
    np.testing.assert_allclose(later["data_share"], [0.4], rtol=1e-3)
    assert np.isnan(updated([*samples, *quiet])["data_share"][0])


def test_steps_are_compared_with_their_own_past_on_free_cpus() -> None:
    """Computing that takes twice as long loses half its time; if it was never seen undisturbed, this is unknown."""
    pressure: Key = ("pressure_seconds_total", (("extent", "some"), ("resource", "cpu")))

    def samples(before: float) -> list[RecordedSample]:
        total, made = 0.0, []
        for n in range(40):
            total += before if n < 20 else 0.8
            made.append(RecordedSample(n, "a", {pressure: total}, report(10 if n < 20 else 5, forward=0.9)))
        return made

    np.testing.assert_allclose(updated(samples(0.0), pressure[0]).slowdown, [0.5], atol=0.02)
    assert np.isnan(updated(samples(0.7), pressure[0]).slowdown[0])


def test_waiting_is_compared_with_its_own_past_too() -> None:
    """Its growth is the loss."""
    samples = [RecordedSample(n, "a", {BUSY: 0.1}, report(10, data=0.2, forward=0.8)) for n in range(20)]
    samples += [RecordedSample(20.0 + n, "a", {BUSY: 0.1}, report(5, data=0.6, forward=0.4)) for n in range(20)]
    np.testing.assert_allclose(updated(samples).data_loss, [0.6 * (1 - 0.02 / 0.12)], atol=0.02)


def test_rates_of_counters_that_are_not_in_the_window() -> None:
    """They are from record to record, unknown over a reset or a gap, and held until the next record."""
    metric: Key = ("tcp_sent_segments_total", ())
    counts = [(0.0, 0.0), (1.0, 50.0), (2.0, 10.0), (3.0, 40.0), (60.0, 90.0), (62.0, 100.0)]
    rates, seen = Rates(), []
    for view in views([RecordedSample(at, "a", {metric: count}) for at, count in counts], metric[0]):
        rates.update(view)
        seen.append(rates.host(metric[0])[0])
        rates.update(view)
        np.testing.assert_equal(rates.host(metric[0])[0], seen[-1])
    np.testing.assert_allclose(seen, [np.nan, 50, np.nan, 30, np.nan, 5])


def test_the_busiest_core_is_measured_on_selected_hosts() -> None:
    """One of four cores is at its limit; a host that is not selected is unknown."""

    def cores(n: int) -> dict[Key, float]:
        return {
            ("cpu_core_busy_seconds_total", (("core", str(c)),)): 10 + n * (0.98 if c == 2 else 0.1) for c in range(4)
        }

    cores_of, found = Cores(), np.empty(0)
    samples = [RecordedSample(n, host, cores(n)) for n in range(20) for host in ("a", "b")]
    for view in views(samples, "cpu_core_busy_seconds_total"):
        found = cores_of.update(view, np.array([1]))
    np.testing.assert_allclose(found, [np.nan, 0.98], atol=0.01)


def test_the_round_trip_over_loopback_is_ignored() -> None:
    """It has the name that the agent's probe gives it; alone, it leaves the network's latency unknown."""
    (near, *_) = [column for column in LatencyProbe().read().columns if column.metric.name == "latency_seconds"]
    key: Key = ("latency_seconds", near.label_pairs())
    found = updated([RecordedSample(n, "a", {BUSY: 0.1, key: 0.2}) for n in range(5)])
    assert np.isnan(found["latency"][0])
    assert updated([RecordedSample(n, "a", {key: 0.2, LATENCY: 0.01}) for n in range(5)])["latency"][0] < 0.02
