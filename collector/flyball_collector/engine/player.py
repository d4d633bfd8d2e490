"""Plays recorded series through the same fleet, window, detectors and conditions, by the time of the input."""

import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

import numpy as np
from google.protobuf.message import DecodeError
from numpy.typing import NDArray

from flyball_collector.diagnosis.event import Event
from flyball_collector.engine.engine import Diagnosis
from flyball_collector.engine.settings import DiagnosisSettings
from flyball_collector.fleet.adjustment_outcomes import add_outcomes_of
from flyball_collector.fleet.events import add_events_of
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
"""The start, in seconds, for series that count from zero. Elsewhere, a time of zero means never."""

_FINE = 1_000_000
"""Readings keep this many parts of one. Bytes and hertz are whole numbers."""

_ENOUGH_GAPS = 8
"""Gaps between the samples of a host that are enough to determine its interval."""

Key = tuple[str, tuple[tuple[str, str], ...]]
"""A column: the name of its metric, and its labels in order."""


@dataclass(frozen=True, slots=True)
class RecordedSample:
    """The readings of one host at one instant. Missing readings are unknown."""

    seconds: float
    host: str
    readings: Mapping[Key, float]
    steps: Sequence[pb.StepReport] = ()
    text: str = ""  # the instant as written in the input
    tenancy: int = 0  # digest of the tenancy (which process holds which GPU); 0: unknown


@dataclass(frozen=True, slots=True)
class RecordingContext:
    """Data that records refer to by digest, and the inventories of hosts."""

    unavailable: dict[int, tuple[UnavailableReading, ...]] = field(default_factory=dict)
    tenancies: dict[int, pb.Tenancy] = field(default_factory=dict)
    inventories: dict[str, pb.Inventory] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RecordedStream:
    """Records of one or more hosts in ascending time, to be read once."""

    ticks: Iterable[Tick]
    intervals: Mapping[str, float] = field(
        default_factory=dict
    )  # by host: the usual seconds between two records; 1 s for
    # hosts without an entry
    hold_seconds: float = 1.0  # how long a reading is valid if no newer one follows
    about: RecordingContext = field(default_factory=RecordingContext)
    ends: Mapping[str, int] = field(default_factory=dict)  # by host: the time of its last record in nanoseconds; hosts
    # without an entry continued after the recording


@dataclass(frozen=True, slots=True)
class Recording(RecordedStream):
    """A stream with all its records in memory."""

    ticks: Sequence[Tick]


@dataclass(frozen=True, slots=True)
class Outline:
    """Data about the samples that is needed before the first one is played."""

    first_seconds: float
    intervals: Mapping[str, float]  # by host: the usual seconds between two samples
    keys: Mapping[str, Collection[Key]]  # by host: all columns that occur
    newest: Mapping[str, float]  # by host: the seconds of its last sample
    about: RecordingContext = field(default_factory=RecordingContext)


def recording(samples: Sequence[RecordedSample], counters: Collection[str] = ()) -> Recording:
    """Turn a complete list of samples in ascending time into records. `counters` names metrics that only grow."""
    stream = stream_of(samples, _outline(samples), counters)
    return Recording(list(stream.ticks), stream.intervals, ends=stream.ends)


def stream_of(samples: Iterable[RecordedSample], outline: Outline, counters: Collection[str] = ()) -> RecordedStream:
    """Turn samples into records while they are played. Series that count from zero are moved to `EPOCH`."""
    shift = 0 if outline.first_seconds >= EPOCH else EPOCH
    forms = {host: _Form(_layout(keys, counters)) for host, keys in outline.keys.items()}
    ticks = (_tick(sample, forms[sample.host], number, shift) for number, sample in enumerate(samples))
    ends = {host: _nanoseconds(shift + seconds) for host, seconds in outline.newest.items()}
    return RecordedStream(ticks, outline.intervals, about=outline.about, ends=ends)


class Player:
    """Plays one recording. It does not wait: an hour of data takes seconds."""

    def __init__(
        self, recorded: RecordedStream, settings: DiagnosisSettings | None = None, *, events_only: bool = False
    ) -> None:
        """Prepare the fleet and the diagnosis. With `events_only` there are no scores and no advice."""
        self._recorded = recorded
        window = Window(hold_seconds=recorded.hold_seconds, hold_intervals=0, gap_seconds=self._gap_seconds())
        self.fleet = Fleet(sys.maxsize, window)
        self.diagnosis = Diagnosis(self.fleet, settings or DiagnosisSettings(), events_only=events_only)

    def play(self) -> Iterator[tuple[Sequence[Tick], list[Event]]]:
        """Yield, for each second with records, these records and the events of that second."""
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
        state.goodbye = tick.corrected_ns == self._recorded.ends.get(tick.host)
        context = self._recorded.about
        state.unavailable = context.unavailable.get(tick.unavailable, ())
        state.tenancy = context.tenancies.get(tick.tenancy)
        state.inventory = context.inventories.get(tick.host)
        record = _extras_of(tick)
        if record is not None:
            state.events = add_events_of(state.events, record)
            state.outcomes = add_outcomes_of(state.outcomes, record)
        self.fleet.apply(tick)

    def _gap_seconds(self) -> float:
        return max(10.0, 3 * max(self._recorded.intervals.values(), default=1.0))


class _Form:
    """A layout, with the position and scale of each key."""

    def __init__(self, layout: Layout) -> None:
        self.layout = KnownLayout(layout)
        self.places = {
            (column.metric.name, column.label_pairs()): (place, column.metric.scale)
            for place, column in enumerate(layout.columns)
        }


def _tick(sample: RecordedSample, form: _Form, number: int, shift: int) -> Tick:
    values, valid = [0] * form.layout.count, [False] * form.layout.count
    for key, value in sample.readings.items():
        place, scale = form.places[key]
        values[place], valid[place] = round(value * scale), True
    at_ns = _nanoseconds(shift + sample.seconds)
    record = pb.Record(steps=sample.steps) if sample.steps else None
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
        extras=record.SerializeToString() if record is not None else b"",
        live=True,
        parsed_extras=record,
    )


def _extras_of(tick: Tick) -> pb.Record | None:
    """Return steps, events and processes of a record. Those of stored rows are parsed here, without damaged ones."""
    if tick.parsed_extras is not None or not tick.extras:
        return tick.parsed_extras
    try:
        return pb.Record.FromString(tick.extras)
    except DecodeError:
        return None


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


def _outline(samples: Sequence[RecordedSample]) -> Outline:
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
    """Return the usual seconds between samples of each host. Hosts with few samples get the median of all hosts."""
    together = np.concatenate([np.asarray(own) for own in gaps.values()]) if gaps else np.empty(0)
    if not len(together):
        return {}
    among_all = float(np.median(together))
    return {
        host: max(least, float(np.median(own)) if len(own) >= _ENOUGH_GAPS else among_all) for host, own in gaps.items()
    }
