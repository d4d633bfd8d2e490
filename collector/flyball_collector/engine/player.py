"""Plays recorded series through the very same fleet, window, detectors and conditions, by the input's time."""

import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from flyball_collector.diagnosis.event import Event
from flyball_collector.engine.engine import Diagnosis
from flyball_collector.engine.settings import DiagnosisSettings
from flyball_collector.fleet.events import recall
from flyball_collector.fleet.fleet import Fleet
from flyball_collector.fleet.window import Window
from flyball_collector.tick import KnownLayout, Tick
from flyball_proto.layout import Column, Layout
from flyball_proto.metric import Kind, Metric
from flyball_proto.unavailable_reading import UnavailableReading
from flyball_proto.v1 import telemetry_pb2 as pb

Floats = NDArray[np.float64]

_SECOND = 10**9
EPOCH = 10**9
"""Where series that count from zero begin, in seconds: a time of zero means never, elsewhere."""

_FINE = 1_000_000
"""Readings keep this many parts of one; bytes and hertz are whole anyway."""

_ENOUGH_GAPS = 8
"""Between a host's samples tell how often it is read."""

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
    tenancy: int = 0  # digest of who holds which GPU; 0: not known


@dataclass(frozen=True, slots=True)
class About:
    """What records refer to by digest, and what the hosts are."""

    unavailable: dict[int, tuple[UnavailableReading, ...]] = field(default_factory=dict)
    tenancies: dict[int, pb.Tenancy] = field(default_factory=dict)
    inventories: dict[str, pb.Inventory] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Stream:
    """Series of one or more hosts as records, in rising time, that are gone through once."""

    ticks: Iterable[Tick]
    intervals: Mapping[str, float] = field(default_factory=dict)  # of each host: the usual seconds from one record to
    # the next; one that is not named is read each second
    hold_seconds: float = 1.0  # how long a reading stands while nothing newer comes
    about: About = field(default_factory=About)
    ends: Mapping[str, int] = field(default_factory=dict)  # when each host's last record was taken, in nanoseconds;
    # a host that is not named lived on: this is a piece of its life


@dataclass(frozen=True, slots=True)
class Recording(Stream):
    """The same with all records at hand."""

    ticks: Sequence[Tick]


@dataclass(frozen=True, slots=True)
class Outline:
    """What must be known of samples before the first of them is played."""

    first_seconds: float
    intervals: Mapping[str, float]  # of each host: the usual seconds from one sample to the next
    keys: Mapping[str, Collection[Key]]  # of each host: every column that it ever has
    newest: Mapping[str, float]  # of each host: the seconds of its last sample
    about: About = field(default_factory=About)


def recording(samples: Sequence[Sample], counters: Collection[str] = ()) -> Recording:
    """Samples in rising time as records, which are all there is. `counters` names the metrics that only grow."""
    stream = streamed(samples, _outline(samples), counters)
    return Recording(list(stream.ticks), stream.intervals, ends=stream.ends)


def streamed(samples: Iterable[Sample], outline: Outline, counters: Collection[str] = ()) -> Stream:
    """The same of samples that are read while they are played. Series that count from zero are moved to `EPOCH`."""
    shift = 0 if outline.first_seconds >= EPOCH else EPOCH
    forms = {host: _Form(_layout(keys, counters)) for host, keys in outline.keys.items()}
    ticks = (_tick(sample, forms[sample.host], number, shift) for number, sample in enumerate(samples))
    ends = {host: _nanoseconds(shift + seconds) for host, seconds in outline.newest.items()}
    return Stream(ticks, outline.intervals, about=outline.about, ends=ends)


class Player:
    """Plays one recording. Nothing is told twice, nothing waits: an hour takes seconds."""

    def __init__(
        self, recorded: Stream, settings: DiagnosisSettings | None = None, *, events_only: bool = False
    ) -> None:
        """`events_only`: neither scores nor advice are made."""
        self._recorded = recorded
        window = Window(hold_seconds=recorded.hold_seconds, hold_intervals=0, gap_seconds=self._gap_seconds())
        self.fleet = Fleet(sys.maxsize, window)
        self.diagnosis = Diagnosis(self.fleet, settings or DiagnosisSettings(), events_only=events_only)

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
        state.interval_ms = round(1000 * self._recorded.intervals.get(tick.host, 1.0))
        state.connected = True
        state.said_goodbye = tick.corrected_ns == self._recorded.ends.get(tick.host)
        about = self._recorded.about
        state.unavailable = about.unavailable.get(tick.unavailable, ())
        state.tenancy = about.tenancies.get(tick.tenancy)
        state.inventory = about.inventories.get(tick.host)
        if tick.told is not None:
            state.events = recall(state.events, tick.told)
        self.fleet.apply(tick)

    def _gap_seconds(self) -> float:
        return max(10.0, 3 * max(self._recorded.intervals.values(), default=1.0))


class _Form:
    """A layout, and where the values of each key go, times what."""

    def __init__(self, layout: Layout) -> None:
        self.layout = KnownLayout(layout)
        self.places = {
            (column.metric.name, column.label_pairs()): (place, column.metric.scale)
            for place, column in enumerate(layout.columns)
        }


def _tick(sample: Sample, form: _Form, number: int, shift: int) -> Tick:
    values, valid = [0] * form.layout.count, [False] * form.layout.count
    for key, value in sample.readings.items():
        place, scale = form.places[key]
        values[place], valid[place] = round(value * scale), True
    at_ns = _nanoseconds(shift + sample.seconds)
    told = pb.Record(steps=sample.steps) if sample.steps else None
    return Tick(
        host=sample.host,
        epoch=b"recorded" * 2,
        sequence=number,
        layout=form.layout,
        values=np.array(values, dtype=np.int64),
        valid=np.array(valid, dtype=np.bool_),
        agent_ns=at_ns,
        boot_ns=at_ns,
        corrected_ns=at_ns,
        received_ns=at_ns,
        unavailable=0,
        tenancy=sample.tenancy,
        extras=told.SerializeToString() if told is not None else b"",
        live=True,
        told=told,
    )


def _nanoseconds(seconds: float) -> int:
    return round(seconds * _SECOND)


def _layout(keys: Collection[Key], counters: Collection[str]) -> Layout:
    return Layout(tuple(_column(key, counters) for key in sorted(keys)))


def _column(key: Key, counters: Collection[str]) -> Column:
    name, labels = key
    kind = Kind.COUNTER if name in counters else Kind.GAUGE
    scale = 1 if name.endswith(("_bytes", "_hertz", "_bytes_total")) else _FINE
    metric = Metric(name, kind, "", "Recorded.", tuple(label for label, _ in labels), scale)
    return Column(metric, tuple(value for _, value in labels))


def _outline(samples: Sequence[Sample]) -> Outline:
    keys: dict[str, dict[Key, None]] = {}
    newest: dict[str, float] = {}
    gaps: dict[str, list[float]] = {}
    for sample in samples:
        keys.setdefault(sample.host, {}).update(dict.fromkeys(sample.readings))
        own = gaps.setdefault(sample.host, [])
        if sample.host in newest:
            own.append(sample.seconds - newest[sample.host])
        newest[sample.host] = sample.seconds
    return Outline(samples[0].seconds if samples else 0.0, usual_intervals(gaps), keys, newest)


def usual_intervals(gaps: Mapping[str, Sequence[float] | Floats], least: float = 1.0) -> dict[str, float]:
    """The usual time between two samples of each host, in seconds; of a host with few, what is usual among all."""
    together = np.concatenate([np.asarray(own) for own in gaps.values()]) if gaps else np.empty(0)
    if not len(together):
        return {}
    among_all = float(np.median(together))
    return {
        host: max(least, float(np.median(own)) if len(own) >= _ENOUGH_GAPS else among_all) for host, own in gaps.items()
    }
