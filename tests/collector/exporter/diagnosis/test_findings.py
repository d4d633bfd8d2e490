"""From a running diagnosis to its export: scores, conditions with current numbers, waste, XIDs, failures."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
import pytest

from flyball_collector.diagnosis.claims import Claims
from flyball_collector.diagnosis.event import Event
from flyball_collector.diagnosis.kinds import BY_NAME
from flyball_collector.diagnosis.scores.score_table import ScoreTable
from flyball_collector.diagnosis.subject import Subject, subjects
from flyball_collector.diagnosis.view import View
from flyball_collector.diagnosis.waste_settings import WasteSettings
from flyball_collector.engine.accounts import Accounts
from flyball_collector.engine.player import Key, Player, RecordedSample, recording
from flyball_collector.exporter.diagnosis.diagnosis_writer import DiagnosisWriter
from flyball_collector.exporter.diagnosis.findings import DiagnosisFindings
from flyball_collector.exporter.diagnosis.snapshot import DiagnosisSnapshot, ExportedCondition, Price, price_of
from flyball_collector.exporter.negotiation import ExpositionFormat
from flyball_collector.fleet.events import HostEvent
from flyball_collector.own_metrics import OwnMetrics
from flyball_proto.v1 import telemetry_pb2 as pb

GPU = (("gpu", "GPU-0"), ("index", "0"))


class FillingMemory:
    """Claims that every host's memory is full 100 s after the start, and that a broken disk is slow."""

    name = "filling"
    kinds = (BY_NAME["memory_exhaustion"], BY_NAME["bottleneck_disk"])
    needs = ()

    def observe(self, view: View) -> Iterable[Claims]:
        of_hosts = view.hosts
        yes = np.ones(len(of_hosts), dtype=bool)
        left = np.full(len(of_hosts), 1e9 + 100.0 - view.now)
        for kind in self.kinds:
            yield Claims(
                kind=kind, subjects=of_hosts, enters=yes, stays=yes, confidence=0.8 * yes, level=0.5 * yes,
                seconds_left=left, because=lambda _: "it fills",
            )  # fmt: skip


class SlowRun:
    """Claims that a run is slow."""

    name = "slow"
    kinds = (BY_NAME["run_slow"],)
    needs = ()

    def observe(self, view: View) -> Iterable[Claims]:  # noqa: ARG002
        yes = np.ones(1, dtype=bool)
        yield Claims(
            kind=self.kinds[0], subjects=self.subjects, enters=yes, stays=yes, confidence=0.8 * yes, level=0.5 * yes
        )

    subjects = subjects([Subject(run="nightly")])


class BrokenDetector:
    """Fails on every call."""

    name = "broken"
    kinds = ()
    needs = ()

    def observe(self, view: View) -> Iterator[Claims]:
        raise ZeroDivisionError(view.now)


def conditions_in(snapshot: DiagnosisSnapshot) -> list[ExportedCondition]:
    return [each for group in snapshot.active for each in group]


def readings() -> dict[Key, float]:
    return {
        ("cpu_busy_ratio", ()): 0.4,
        ("memory_used_ratio", ()): 0.3,
        ("gpu_utilization_ratio", GPU): 0.25,
        ("gpu_memory_used_bytes", GPU): 2.0**35,
    }


class Watched:
    """Two hosts, observed for some seconds."""

    def __init__(self, seconds: int) -> None:
        samples = [RecordedSample(n, host, readings()) for n in range(seconds) for host in ("a", "b")]
        self.player = Player(recording(samples))
        self.diagnosis = self.player.diagnosis
        others = [each for each in self.diagnosis.detectors if BY_NAME["memory_exhaustion"] not in each.kinds]
        self.diagnosis.detectors[:] = [*others, FillingMemory(), SlowRun(), BrokenDetector()]
        self.own = OwnMetrics()
        self.accounts = Accounts(self.diagnosis, self.own)
        self.events: list[Event] = []
        self.diagnosis.step = self._step  # type: ignore[method-assign]  # like the collector
        for _ in self.player.play():
            pass
        self.findings = DiagnosisFindings(self.diagnosis, self.accounts, Price(2.0, "EUR"))

    def _step(self, now_ns: int) -> list[Event]:
        for _ in self.accounts.slices(now_ns, self.events.extend):
            pass
        return []


def test_all_results_are_exported() -> None:
    """Base scores along hosts, active conditions, the time lost to them, and its price."""
    watched = Watched(40)
    snapshot = watched.findings.of_fleet()
    assert tuple(snapshot.scores.hosts) == ("a", "b")
    np.testing.assert_allclose(dict(snapshot.scores.base)["cpu"], [0.5, 0.5])
    assert {"disk", "cpu", "idle_gpu"} <= {name for name, _ in snapshot.scores.bottlenecks}
    conditions = {(each.kind.name, each.subject.host) for each in conditions_in(snapshot)}
    assert {("memory_exhaustion", "a"), ("bottleneck_disk", "b")} <= conditions
    lost = dict(zip(snapshot.waste.causes, snapshot.waste.seconds[0].tolist(), strict=True))
    assert 20 < lost["disk"] < 30
    assert snapshot.price == Price(2.0, "EUR")
    assert {event.kind.name for event in watched.events} >= {"memory_exhaustion", "bottleneck_disk"}


def test_a_risk_has_its_current_numbers() -> None:
    """Events are emitted at most once a minute; the seconds left are this second's."""
    watched = Watched(40)
    (risk,) = [
        each
        for each in conditions_in(watched.findings.of_host("a"))
        if each.kind.name == "memory_exhaustion" and not each.subject.gpu
    ]
    view = watched.diagnosis.view
    assert view is not None
    (event,) = [each.event for each in watched.diagnosis.conditions.active_of("a") if each.kind is risk.kind]
    assert event.seconds_left is not None
    assert risk.left == 1e9 + 100.0 - view.now
    assert risk.left < event.seconds_left
    assert risk.probability == 0.8
    (disk,) = [e for e in conditions_in(watched.findings.of_host("a")) if e.kind.name == "bottleneck_disk"]
    assert disk.left is None, "it foresees nothing"


class BriefRisk:
    """Claims that a GPU overheats within 40 s, then nothing about it any more, then that the GPU has gone."""

    name = "brief"
    kinds = (BY_NAME["thermal_slowdown"],)
    needs = ()
    heating, cooler = subjects([Subject("a", "GPU-0")], [0]), subjects([])

    def __init__(self) -> None:
        self.left = 40.0
        self.subjects = self.heating

    def observe(self, view: View) -> Iterable[Claims]:  # noqa: ARG002
        some = np.full(len(self.subjects), fill_value=True)
        yield Claims(
            kind=self.kinds[0], subjects=self.subjects, enters=some, stays=some, confidence=0.9 * some,
            seconds_left=np.full(len(self.subjects), self.left),
        )  # fmt: skip


def test_a_forecast_is_exported_for_a_minute_even_if_the_risk_has_ended() -> None:
    """It is counted down while there is no newer one, and after the condition is cleared before anything scrapes it."""
    watched, brief = Watched(10), BriefRisk()
    watched.diagnosis.detectors[:] = [brief]
    for second in range(64):
        brief.left = 40.0 if second == 0 else float("nan")
        brief.subjects = brief.heating if second < 20 else brief.cooler
        watched._step((1_000_000_030 + second) * 10**9)  # after the recording
        of_fleet, of_host = watched.findings.of_fleet(), watched.findings.of_host("a")
        for snapshot in (of_fleet, of_host):
            found = [e for e in (*conditions_in(snapshot), *snapshot.held_risks) if e.kind is brief.kinds[0]]
            wanted = [(max(1.0, 40.0 - second), 1_000_000_030.0)] if second <= 60 else []
            assert [(each.left, each.forecast_at) for each in found] == wanted, second
        assert len(of_fleet.held_risks) == (20 <= second <= 60)
    assert list(watched.findings.of_host("b").held_risks) == []


def test_evidence_and_confidence_are_exported_with_the_condition() -> None:
    """Warnings and critical conditions have their text on the page of the fleet, of their host and of runs."""
    watched = Watched(40)
    of_fleet = watched.findings.of_fleet().texts
    assert {each.kind.name for each in of_fleet} >= {"memory_exhaustion"}
    assert all(each.confidence.endswith(" %") for each in of_fleet)
    assert {each.subject.host for each in watched.findings.of_host("a").texts} == {"a"}
    assert all(not each.subject.host for each in watched.findings.of_runs().texts)


def test_the_evidence_is_that_of_now_when_it_is_exported_first() -> None:
    """A condition whose numbers have changed since it was raised is exported with its present words."""
    watched = Watched(10)
    (active,) = [e for e in watched.diagnosis.conditions.active_of("a") if e.kind.name == "memory_exhaustion"]
    active.event = replace(active.event, because="words of long ago")
    (text,) = [e for e in watched.findings.of_host("a").texts if e.kind.name == "memory_exhaustion"]
    assert text.because == "it fills"


def test_an_unchanged_group_is_the_same_object() -> None:
    """Groups other than risks are made once; a risk has new numbers each second."""
    watched = Watched(40)
    first, again = watched.findings.of_fleet().active, watched.findings.of_fleet().active
    assert {group[0].kind.name for group in first} >= {"memory_exhaustion", "bottleneck_disk"}
    for one, other in zip(first, again, strict=True):
        assert (one is other) == (one[0].kind.name != "memory_exhaustion"), one[0].kind.name
    watched.diagnosis.conditions.load([replace(watched.events[0], subject=Subject("c"))], 0)
    kind = watched.events[0].kind
    (group,) = [group for group in watched.findings.of_fleet().active if group[0].kind is kind]
    assert "c" in {each.subject.host for each in group}


def test_the_results_of_one_host() -> None:
    """They equal its part of the fleet, without its neighbours'; an unknown host has none."""
    findings = Watched(40).findings
    whole, alone = findings.of_fleet(), findings.of_host("b")
    assert tuple(alone.scores.hosts) == ("b",)
    for (name, values), (_, all_values) in zip(alone.scores.bottlenecks, whole.scores.bottlenecks, strict=True):
        np.testing.assert_equal(values, all_values[1:], err_msg=name)
    assert {each.subject.host for each in conditions_in(alone)} == {"b"}
    of_host = [each for each in conditions_in(whole) if each.subject.host == "b"]
    assert sorted(conditions_in(alone), key=_by_kind) == sorted(of_host, key=_by_kind)
    np.testing.assert_equal(alone.waste.seconds, whole.waste.seconds[1:])
    nobody = findings.of_host("c")
    assert (len(nobody.scores.hosts), conditions_in(nobody), len(nobody.waste.hosts)) == (0, [], 0)


def test_a_run_without_steps_is_exported_until_it_ends() -> None:
    """It has GPUs, ranks, start, source and its user; step times are unknown."""
    watched = Watched(10)
    fleet, view = watched.player.fleet, watched.diagnosis.view
    assert view is not None
    (host, *_) = fleet.hosts()
    members = [pb.Member(run="slurm-7", rank=rank, world_size=2, user="ada", source="slurm", gpus=[f"G{rank}"])
               for rank in (0, 1)]  # fmt: skip
    host.tenancy = pb.Tenancy(members=members)
    fleet.advance(view.now_ns)
    runs = {run.run: run for run in watched.findings.of_runs().runs}
    run = runs["slurm-7"]
    assert (run.ranks, run.gpus, run.source, run.user, run.median_seconds) == (2, 2, "slurm", "ada", None)
    assert run.started == view.now_ns / 1e9
    host.tenancy = None
    fleet.advance(view.now_ns - 60 * 10**9)
    assert "slurm-7" not in {run.run for run in watched.findings.of_fleet().runs}


@pytest.mark.parametrize(
    ("label", "model", "flops", "peak"),
    [("4.2e10", "NVIDIA H100 80GB HBM3", 4.2e10, 2 * 989e12), ("4.2e10", "Nobody's GPU", 4.2e10, None),
     ("much", "NVIDIA H100 80GB HBM3", None, None)],
)  # fmt: skip
def test_what_a_run_can_compute_is_exported(label: str, model: str, flops: float | None, peak: float | None) -> None:
    """The declared operations of a token, and the rate of its GPUs by their data sheets if all of them are known."""
    watched = Watched(10)
    fleet, view = watched.player.fleet, watched.diagnosis.view
    assert view is not None
    (host, *_) = fleet.hosts()
    host.inventory = pb.Inventory(gpus=[pb.Gpu(uuid=f"G{n}", index=n, model=model) for n in range(8)])
    labels = {"flops_per_token": label}
    members = [pb.Member(run="big", rank=n, world_size=2, gpus=[f"G{n}"], labels=labels) for n in (0, 1)]
    host.tenancy = pb.Tenancy(members=members)
    fleet.advance(view.now_ns)
    (run,) = [run for run in watched.findings.of_runs().runs if run.run == "big"]
    assert (run.flops_per_token, run.peak_flops) == (flops, peak)


def test_the_results_of_runs() -> None:
    """They are equal whether they are made alone or with the whole fleet."""
    findings = Watched(80).findings
    whole, alone = (
        b"".join(DiagnosisWriter().render(snapshot, ExpositionFormat.TEXT, known=(), reporting=()))
        for snapshot in (findings.of_fleet(), findings.of_runs())
    )
    assert alone == whole
    assert b'run="nightly"' in alone
    assert b"flyball_gpu_hour_price" in alone
    assert not len(findings.of_runs().scores.hosts)


def _by_kind(active: ExportedCondition) -> tuple[str, str]:
    return active.kind.name, active.subject.gpu


def test_detectors_that_fail_are_counted() -> None:
    """Each failure is counted once."""
    own = Watched(10).own
    assert own.registry.get_sample_value("flyball_collector_detector_failures_total", {"detector": "broken"}) == 10


def test_xids_are_exported() -> None:
    """They are in the results of the fleet and of the host."""
    watched = Watched(3)
    view = watched.diagnosis.view
    assert view is not None
    state = view.states[0]
    state.events = (HostEvent(view.now_ns - 10**10, "gpu_xid", "GPU-0", 79, ""),)
    watched.accounts.xids.update(view.states, view.now)
    for snapshot in (watched.findings.of_fleet(), watched.findings.of_host("a")):
        assert [(xid.host, xid.gpu, xid.code) for xid in snapshot.xids] == [("a", "GPU-0", 79)]
    assert watched.findings.of_host("b").xids == []


def test_before_the_first_second_there_are_no_results() -> None:
    """An early scrape is answered."""
    watched = Watched(0)
    snapshot = watched.findings.of_fleet()
    assert (list(snapshot.scores.hosts), conditions_in(snapshot), list(snapshot.runs)) == ([], [], [])
    assert watched.findings.of_host("a").primary == []


def test_without_a_price_there_is_no_price_metric() -> None:
    """The price comes only from the settings."""
    assert price_of(WasteSettings()) is None
    assert price_of(WasteSettings(price_per_gpu_hour=2.5, currency="EUR")) == Price(2.5, "EUR")


class SwingingDetector:
    """Claims a disk bottleneck that fades until it is retracted, and is certain of an input bottleneck."""

    name = "swinging"
    kinds = (BY_NAME["bottleneck_disk"], BY_NAME["bottleneck_data_wait"])
    needs = ()

    def __init__(self) -> None:
        self.table: ScoreTable | None = None
        self._looks = 0

    def observe(self, view: View) -> Iterable[Claims]:
        self._looks += 1
        yes = np.ones(len(view.hosts), dtype=bool)
        sure = max(0.0, 0.9 - 0.02 * self._looks) * yes
        level = 0.5 * yes
        self.table = ScoreTable(
            view.hosts, {}, {"disk": sure * level, "data_wait": 0.9 * level}, {"disk": sure, "data_wait": 0.9 * yes}
        )
        disk, data_wait = self.kinds
        yield Claims(
            kind=disk, subjects=view.hosts, enters=sure >= 0.5, stays=sure >= 0.35, confidence=sure, level=level,
            because=lambda place: f"{sure[place]:.2f}", evidence={"io_pressure_ratio": sure},
        )  # fmt: skip
        yield Claims(kind=data_wait, subjects=view.hosts, enters=yes, stays=yes, confidence=0.9 * yes, level=level)


def watched_for(seconds: int) -> Watched:
    """Return the diagnosis after so many seconds."""
    watched = Watched(0)
    watched.diagnosis.detectors[:] = [SwingingDetector()]
    watched.player = Player(recording([RecordedSample(n, "a", readings()) for n in range(seconds)]))
    diagnosis = watched.player.diagnosis
    diagnosis.detectors[:] = [SwingingDetector()]
    for _ in watched.player.play():
        pass
    watched.findings = DiagnosisFindings(diagnosis, Accounts(diagnosis, OwnMetrics()))
    return watched


@pytest.mark.parametrize("seconds", [3, 10, 25, 32, 50, 70])
def test_scores_primary_and_conditions_are_of_one_second(seconds: int) -> None:
    """The primary bottleneck is active; confidence, score and text are this second's, not the event's."""
    found = watched_for(seconds).findings.of_host("a")
    active = {event.kind.name.removeprefix("bottleneck_"): event for event in found.events}
    scores = {name: float(values[0]) for name, values in found.scores.bottlenecks}
    confidences = {name: float(values[0]) for name, values in found.scores.confidences}
    assert {name for name, value in confidences.items() if np.isfinite(value)} == set(active)
    assert len(found.primary) == min(len(active), 1)
    assert {name for _, name in found.primary} <= set(active)
    for name, event in active.items():
        assert event.confidence == pytest.approx(confidences[name])
        assert event.level is not None
        assert event.level * event.confidence == pytest.approx(scores[name])


def test_a_fading_bottleneck_shows_its_current_text() -> None:
    """Below its exit level it stays active for half a minute, with this second's text."""
    (disk,) = watched_for(32).findings.of_host("a").events
    assert disk.because == "fading: 0.26"
    assert disk.evidence == {"io_pressure_ratio": pytest.approx(0.26)}


def test_an_explained_bottleneck_is_listed_with_its_cause() -> None:
    """It would be raised, and is larger, without the disk."""
    assert watched_for(25).findings.of_host("a").explained == [("data_wait", "bottleneck_disk")]
    assert watched_for(80).findings.of_host("a").explained == []
