"""Plays recorded series through the very same fleet, window, detectors and conditions, by the input's time."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

import numpy as np

from flyball_collector.diagnosis.engine import Diagnosis
from flyball_collector.diagnosis.event import Event
from flyball_collector.diagnosis.settings import DiagnosisSettings
from flyball_collector.fleet.fleet import Fleet
from flyball_collector.fleet.window import Window
from flyball_collector.tick import KnownLayout, Tick
from flyball_proto.layout import Column, Layout
from flyball_proto.metric import Kind, Metric
from flyball_proto.v1 import telemetry_pb2 as pb

_SECOND = 10**9
_EPOCH = 10**9
"""Series that count from zero are played from here: a time of zero means never, elsewhere."""

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


@dataclass(frozen=True, slots=True)
class Recording:
    """Series of one or more hosts, in rising time."""

    samples: Sequence[Sample]
    counters: frozenset[str] = field(default_factory=frozenset)  # metrics that only grow


class Player:
    """Plays one recording. Nothing is told twice, nothing waits: an hour takes seconds."""

    def __init__(self, recording: Recording, settings: DiagnosisSettings | None = None) -> None:
        self._recording = recording
        interval = _interval(recording.samples)
        window = Window(hold_seconds=1.0, hold_intervals=0, gap_seconds=3 * interval)
        hosts = {sample.host for sample in recording.samples}
        self.fleet = Fleet(max(1, len(hosts)), window)
        self.diagnosis = Diagnosis(self.fleet, settings or DiagnosisSettings())
        self._layouts = _layouts(recording)
        self._interval_ms = round(1000 * interval)
        self._shift = 0 if recording.samples and recording.samples[0].seconds >= _EPOCH else _EPOCH
        self._sequence = 0

    def play(self) -> Iterator[tuple[float, list[Event]]]:
        """The events of each second that has samples, with the time of its last sample."""
        for second, together in groupby(self._recording.samples, key=lambda sample: int(sample.seconds // 1)):
            last = 0.0
            for sample in together:
                self._apply(sample)
                last = sample.seconds
            now_ns = (self._shift + second + 1) * _SECOND - 1
            self.fleet.advance(now_ns)
            yield last, self.diagnosis.step(now_ns)

    def _apply(self, sample: Sample) -> None:
        layout = self._layouts[sample.host]
        values = np.zeros(layout.count, dtype=np.int64)
        valid = np.zeros(layout.count, dtype=np.bool_)
        for place, column in enumerate(layout.layout.columns):
            value = sample.readings.get((column.metric.name, column.label_pairs()))
            if value is not None:
                values[place], valid[place] = round(value * column.metric.scale), True
        at_ns = round((self._shift + sample.seconds) * _SECOND)
        self.fleet.ensure(sample.host).interval_ms = self._interval_ms
        told = pb.Record(steps=sample.steps) if sample.steps else None
        self._sequence += 1
        self.fleet.apply(
            Tick(
                host=sample.host,
                epoch=b"recorded" * 2,
                sequence=self._sequence,
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
        )


def _layouts(recording: Recording) -> dict[str, KnownLayout]:
    """Every column that a host ever has."""
    keys: dict[str, dict[Key, None]] = {}
    for sample in recording.samples:
        keys.setdefault(sample.host, {}).update(dict.fromkeys(sample.readings))
    return {
        host: KnownLayout(Layout(tuple(_column(key, recording.counters) for key in sorted(found))))
        for host, found in keys.items()
    }


def _column(key: Key, counters: frozenset[str]) -> Column:
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
