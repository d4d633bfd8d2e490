"""Plays recorded series through the very same fleet, window, detectors and conditions, by the input's time."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

import numpy as np

from flyball_collector.diagnosis.engine import Diagnosis, build_detectors
from flyball_collector.diagnosis.event import Event
from flyball_collector.diagnosis.settings import DiagnosisSettings
from flyball_collector.fleet.events import recall
from flyball_collector.fleet.fleet import Fleet
from flyball_collector.fleet.window import Window
from flyball_collector.tick import KnownLayout, Tick
from flyball_proto.layout import Column, Layout
from flyball_proto.metric import Kind, Metric
from flyball_proto.silence import Silence
from flyball_proto.v1 import telemetry_pb2 as pb

_SECOND = 10**9
EPOCH = 10**9
"""Where series that count from zero begin, in seconds: a time of zero means never, elsewhere."""

_FINE = 1_000_000
"""Readings keep this many parts of one; bytes and hertz are whole anyway."""

Key = tuple[str, tuple[tuple[str, str], ...]]
"""A column: its metric's name, and its labels in order."""


@dataclass(frozen=True, slots=True)
class Sample:
    """What one host said at one instant; a reading that is missing is unknown."""

    seconds: float
    host: str
    readings: Mapping[Key, float]
    steps: Sequence[pb.StepReport] = ()
    text: str = ""  # the instant in the input's own words


@dataclass(frozen=True, slots=True)
class About:
    """What records refer to by digest, and what the hosts are."""

    silences: dict[int, tuple[Silence, ...]] = field(default_factory=dict)
    tenancies: dict[int, pb.Tenancy] = field(default_factory=dict)
    inventories: dict[str, pb.Inventory] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Recording:
    """Series of one or more hosts as records, in rising time."""

    ticks: Sequence[Tick]
    interval_seconds: float = 1.0  # the usual time from one record of a host to its next
    hold_seconds: float = 1.0  # how long a reading stands while nothing newer comes
    about: About = field(default_factory=About)
    whole: bool = False  # all that there was of each host, so its last record is its end; else a piece of a longer life


def recording(samples: Sequence[Sample], counters: Collection[str] = ()) -> Recording:
    """Samples in rising time as records, which are all there is. `counters` names the metrics that only grow.

    Series that count from zero are moved to `EPOCH`.
    """
    layouts = _layouts(samples, counters)
    shift = 0 if samples and samples[0].seconds >= EPOCH else EPOCH
    ticks = [_tick(sample, layouts[sample.host], number, shift) for number, sample in enumerate(samples)]
    return Recording(ticks, _interval(samples), whole=True)


class Player:
    """Plays one recording. Nothing is told twice, nothing waits: an hour takes seconds."""

    def __init__(self, recorded: Recording, settings: DiagnosisSettings | None = None) -> None:
        self._recorded = recorded
        window = Window(hold_seconds=recorded.hold_seconds, hold_intervals=0, gap_seconds=self._gap_seconds())
        self.fleet = Fleet(max(1, len({tick.host for tick in recorded.ticks})), window)
        settings = settings or DiagnosisSettings()
        self.diagnosis = Diagnosis(self.fleet, settings, build_detectors(settings, recorded=True))
        self._last = {tick.host: tick for tick in recorded.ticks} if recorded.whole else {}  # record of each host

    def play(self) -> Iterator[tuple[Sequence[Tick], list[Event]]]:
        """Each second that has records: these, and the events of that second."""
        for second, together in groupby(self._recorded.ticks, key=lambda tick: tick.corrected_ns // _SECOND):
            ticks = list(together)
            for tick in ticks:
                self._apply(tick)
            now_ns = (second + 1) * _SECOND - 1
            self.fleet.advance(now_ns)
            yield ticks, self.diagnosis.step(now_ns)

    def _apply(self, tick: Tick) -> None:
        state = self.fleet.ensure(tick.host)
        state.interval_ms = round(1000 * self._recorded.interval_seconds)
        state.connected = True
        state.said_goodbye = tick is self._last.get(tick.host)
        about = self._recorded.about
        state.silences = about.silences.get(tick.silences, ())
        state.tenancy = about.tenancies.get(tick.tenancy)
        state.inventory = about.inventories.get(tick.host)
        if tick.told is not None:
            state.events = recall(state.events, tick.told)
        self.fleet.apply(tick)

    def _gap_seconds(self) -> float:
        return max(10.0, 3 * self._recorded.interval_seconds)


def _tick(sample: Sample, layout: KnownLayout, number: int, shift: int) -> Tick:
    values = np.zeros(layout.count, dtype=np.int64)
    valid = np.zeros(layout.count, dtype=np.bool_)
    for place, column in enumerate(layout.layout.columns):
        value = sample.readings.get((column.metric.name, column.label_pairs()))
        if value is not None:
            values[place], valid[place] = round(value * column.metric.scale), True
    at_ns = round((shift + sample.seconds) * _SECOND)
    told = pb.Record(steps=sample.steps) if sample.steps else None
    return Tick(
        host=sample.host,
        epoch=b"recorded" * 2,
        sequence=number,
        layout=layout,
        values=values,
        valid=valid,
        agent_ns=at_ns,
        boot_ns=at_ns,
        corrected_ns=at_ns,
        received_ns=at_ns,
        silences=0,
        tenancy=0,
        extras=told.SerializeToString() if told is not None else b"",
        live=True,
        told=told,
    )


def _layouts(samples: Iterable[Sample], counters: Collection[str]) -> dict[str, KnownLayout]:
    """Every column that a host ever has."""
    keys: dict[str, dict[Key, None]] = {}
    for sample in samples:
        keys.setdefault(sample.host, {}).update(dict.fromkeys(sample.readings))
    return {
        host: KnownLayout(Layout(tuple(_column(key, counters) for key in sorted(found))))
        for host, found in keys.items()
    }


def _column(key: Key, counters: Collection[str]) -> Column:
    name, labels = key
    kind = Kind.COUNTER if name in counters else Kind.GAUGE
    scale = 1 if name.endswith(("_bytes", "_hertz", "_bytes_total")) else _FINE
    metric = Metric(name, kind, "", "Recorded.", tuple(label for label, _ in labels), scale)
    return Column(metric, tuple(value for _, value in labels))


def _interval(samples: Iterable[Sample]) -> float:
    """The usual time from one sample of a host to its next, in seconds; at least one."""
    newest: dict[str, float] = {}
    gaps = []
    for sample in samples:
        if sample.host in newest:
            gaps.append(sample.seconds - newest[sample.host])
        newest[sample.host] = sample.seconds
    return max(1.0, float(np.median(gaps))) if gaps else 1.0
