"""What scores are made of: smoothing, holding, rates, cores, steps."""

from collections.abc import Iterator

import numpy as np

from flyball_agent.probes.latency import LatencyProbe
from flyball_collector.diagnosis.scores.cores import Cores
from flyball_collector.diagnosis.scores.quantities import SIGNALS
from flyball_collector.diagnosis.scores.rates import Rates
from flyball_collector.diagnosis.scores.signals import Signals
from flyball_collector.diagnosis.view import View
from flyball_collector.engine.engine import Diagnosis
from flyball_collector.engine.player import Key, Player, Sample, recording
from flyball_collector.engine.settings import DiagnosisSettings
from flyball_proto.v1 import telemetry_pb2 as pb

BUSY: Key = ("cpu_busy_ratio", ())
LATENCY: Key = ("latency_seconds", (("target", "db:1"),))


def views(samples: list[Sample], *counters: str) -> Iterator[View]:
    """The view of each second; good until the next."""
    player = Player(recording(samples, counters))
    player.diagnosis = Diagnosis(player.fleet, DiagnosisSettings(), [])
    for _ in player.play():
        assert player.diagnosis.view is not None
        yield player.diagnosis.view


def looked(samples: list[Sample], *counters: str) -> Signals:
    """Signals that looked at all of them, one after the other as they came."""
    signals = Signals(2.5)
    for view in views(samples, *counters):
        signals.look(view)
    return signals


def report(steps: int, **sections: float) -> list[pb.StepReport]:
    return [
        pb.StepReport(
            run="r", steps=steps, step_seconds=1.0, section_seconds=sections, data_wait_seconds=sections.get("data")
        )
    ]


def test_signals_have_names_of_their_own() -> None:
    """Each once, with words."""
    assert len({signal.name for signal in SIGNALS}) == len(SIGNALS)
    assert all(signal.meaning for signal in SIGNALS)


def test_a_change_counts_within_seconds_whatever_the_interval() -> None:
    """One time constant: two thirds of it; with samples a minute apart the newest counts alone."""
    steady = [Sample(n, "a", {BUSY: 0.0}) for n in range(20)]
    found = looked([*steady, *(Sample(20.0 + n, "a", {BUSY: 1.0}) for n in range(5))])
    np.testing.assert_allclose(found["cpu_busy"], 1 - np.exp(-5 / 2.5), rtol=1e-3)
    found = looked([Sample(57.0 * n, "a", {BUSY: float(n == 3)}) for n in range(4)])
    np.testing.assert_allclose(found["cpu_busy"], 1.0, rtol=1e-3)


def test_single_late_round_trips_do_not_count() -> None:
    """A busy machine answers late now and then; a longer way is longer every time."""
    late = looked([Sample(n, "a", {LATENCY: 0.05 if n % 5 == 0 else 0.001}) for n in range(24)])
    assert late["latency"][0] < 0.002
    far = looked([Sample(n, "a", {LATENCY: 0.05 if n > 10 else 0.001}) for n in range(24)])
    assert far["latency"][0] > 0.045
    assert far.latency_growth[0] > 40


def test_single_early_round_trips_do_not_end_a_long_way() -> None:
    """The queue of a full link is empty now and then, for two seconds in a row, too; three say that it is over."""
    full = looked([Sample(n, "a", {LATENCY: 0.001 if n < 10 or n % 6 < 2 else 0.05}) for n in range(44)])
    np.testing.assert_allclose(full["latency"], 0.05)
    over = looked([Sample(n, "a", {LATENCY: 0.05 if 10 < n < 37 else 0.001}) for n in range(40)])
    np.testing.assert_allclose(over["latency"], 0.001)


def test_what_becomes_unknown_is_held_for_a_while() -> None:
    """Ten seconds; steps, which may be long, for a minute."""
    samples = [Sample(n, "a", {BUSY: 0.5, LATENCY: 0.001}, report(5, data=0.4, forward=0.6)) for n in range(5)]
    quiet = [Sample(5.0 + n, "a", {LATENCY: 0.001}) for n in range(70)]
    shortly = looked([*samples, *quiet[:8]])
    np.testing.assert_allclose([shortly["cpu_busy"][0], shortly["data_share"][0]], [0.5, 0.4], rtol=1e-3)
    later = looked([*samples, *quiet[:20]])
    assert np.isnan(later["cpu_busy"][0])
    np.testing.assert_allclose(later["data_share"], [0.4], rtol=1e-3)
    assert np.isnan(looked([*samples, *quiet])["data_share"][0])


def test_steps_are_compared_with_their_own_past_on_free_cpus() -> None:
    """Computing that takes twice as long has lost half its time; where it was never seen undisturbed it is unknown."""
    pressure: Key = ("pressure_seconds_total", (("extent", "some"), ("resource", "cpu")))

    def samples(before: float) -> list[Sample]:
        total, made = 0.0, []
        for n in range(40):
            total += before if n < 20 else 0.8
            made.append(Sample(n, "a", {pressure: total}, report(10 if n < 20 else 5, forward=0.9)))
        return made

    np.testing.assert_allclose(looked(samples(0.0), pressure[0]).slowdown, [0.5], atol=0.02)
    assert np.isnan(looked(samples(0.7), pressure[0]).slowdown[0])


def test_waiting_is_compared_with_its_own_past_too() -> None:
    """What it grew by is the loss."""
    samples = [Sample(n, "a", {BUSY: 0.1}, report(10, data=0.2, forward=0.8)) for n in range(20)]
    samples += [Sample(20.0 + n, "a", {BUSY: 0.1}, report(5, data=0.6, forward=0.4)) for n in range(20)]
    np.testing.assert_allclose(looked(samples).data_loss, [0.6 * (1 - 0.02 / 0.12)], atol=0.02)


def test_rates_of_counters_that_the_window_does_not_keep() -> None:
    """From record to record; unknown over a reset and over a gap; the last one stands while nothing newer comes."""
    metric: Key = ("tcp_sent_segments_total", ())
    counts = [(0.0, 0.0), (1.0, 50.0), (2.0, 10.0), (3.0, 40.0), (60.0, 90.0), (62.0, 100.0)]
    rates, seen = Rates(), []
    for view in views([Sample(at, "a", {metric: count}) for at, count in counts], metric[0]):
        rates.look(view)
        seen.append(rates.host(metric[0])[0])
        rates.look(view)
        np.testing.assert_equal(rates.host(metric[0])[0], seen[-1])
    np.testing.assert_allclose(seen, [np.nan, 50, np.nan, 30, np.nan, 5])


def test_the_busiest_core_is_found_where_it_is_looked_for() -> None:
    """One of four at its limit; of a host that is not among the places nothing is known."""

    def cores(n: int) -> dict[Key, float]:
        return {
            ("cpu_core_busy_seconds_total", (("core", str(c)),)): 10 + n * (0.98 if c == 2 else 0.1) for c in range(4)
        }

    looks, found = Cores(), np.empty(0)
    samples = [Sample(n, host, cores(n)) for n in range(20) for host in ("a", "b")]
    for view in views(samples, "cpu_core_busy_seconds_total"):
        found = looks.look(view, np.array([1]))
    np.testing.assert_allclose(found, [np.nan, 0.98], atol=0.01)


def test_the_round_trip_over_loopback_is_no_way_anywhere() -> None:
    """By the very name that the agent's probe gives it: alone it leaves the network's latency unknown."""
    (near, *_) = [column for column in LatencyProbe().read().columns if column.metric.name == "latency_seconds"]
    key: Key = ("latency_seconds", near.label_pairs())
    found = looked([Sample(n, "a", {BUSY: 0.1, key: 0.2}) for n in range(5)])
    assert np.isnan(found["latency"][0])
    assert looked([Sample(n, "a", {key: 0.2, LATENCY: 0.01}) for n in range(5)])["latency"][0] < 0.02
