"""Events of a replayed recording, in the form for people and programs."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import TypedDict

from flyball_collector.diagnosis.event import Event
from flyball_collector.diagnosis.subject import Subject
from flyball_collector.engine.player import Player, RecordedSample, Recording, stream_of
from flyball_collector.engine.settings import DiagnosisSettings
from flyball_collector.replay.csv_series import CsvSeries

Time = float | int | str


class PlayedEvent(TypedDict):
    """One event. `time` is as written in the input, or an ISO 8601 time if the input has none."""

    time: Time
    host: str
    gpu: str | None
    gpu_index: int | None
    run: str | None
    worker: str | None
    resource: str | None
    kind: str
    state: str
    severity: str
    confidence: float
    seconds_left: float | None
    because: str
    evidence: dict[str, float]


Played = Iterator[tuple[float, list[PlayedEvent]]]
"""The completed share, from 0 to 1, and the events since the previous item."""


def play_csv(series: CsvSeries, settings: DiagnosisSettings | None = None) -> Played:
    """Replay series of CSV files."""
    texts: dict[int, str] = {}  # of the samples in progress

    def with_texts() -> Iterator[RecordedSample]:
        for number, sample in enumerate(series.samples()):
            texts[number] = sample.text
            yield sample

    done = 0
    for ticks, events in Player(stream_of(with_texts(), series.outline), settings, events_only=True).play():
        done += len(ticks)
        of_host = {tick.host: texts.pop(tick.sequence) for tick in ticks}
        newest = of_host[ticks[-1].host]
        played = [
            _played_event(
                _on_gpu(event, series),
                as_written(of_host.get(event.subject.host, newest)),
                _worker(series, event.subject),
            )
            for event in events
        ]
        yield done / series.count, played


def play_rows(rows: Recording, settings: DiagnosisSettings | None = None) -> Played:
    """Replay stored rows."""
    done = 0
    for ticks, events in Player(rows, settings, events_only=True).play():
        done += len(ticks)
        yield (
            done / len(rows.ticks),
            [_played_event(event, _date(event.time_ns), _rank(event.subject)) for event in events],
        )


def as_written(text: str) -> Time:
    """Return a number if the text is one, else the text."""
    forms: tuple[Callable[[str], float | int], ...] = (int, float)
    for form in forms:
        try:
            return form(text)
        except ValueError:
            continue
    return text


def _played_event(event: Event, time: Time, worker: str | None) -> PlayedEvent:
    subject = event.subject
    return {
        "time": time,
        "host": subject.host,
        "gpu": subject.gpu or None,
        "gpu_index": event.gpu_index,
        "run": subject.run or None,
        "worker": worker,
        "resource": subject.resource or None,
        "kind": event.kind.name,
        "state": event.state.value,
        "severity": event.severity.word,
        "confidence": round(event.confidence, 3),
        "seconds_left": None if event.seconds_left is None else round(event.seconds_left, 1),
        "because": event.because,
        "evidence": {name: float(f"{value:.6g}") for name, value in event.evidence.items()},
    }


def _on_gpu(event: Event, series: CsvSeries) -> Event:
    """Add the GPU to an event of a worker that has only one."""
    subject = event.subject
    gpus = series.holdings.gpus.get((subject.host, subject.rank), ()) if subject.rank is not None else ()
    if len(gpus) != 1:
        return event
    index = int(gpus[0]) if gpus[0].isdecimal() else None
    return replace(event, subject=subject._replace(gpu=gpus[0]), gpu_index=index)


def _worker(series: CsvSeries, subject: Subject) -> str | None:
    return series.workers[subject.rank] if subject.rank is not None else None


def _rank(subject: Subject) -> str | None:
    return str(subject.rank) if subject.rank is not None else None


def _date(time_ns: int) -> str:
    return datetime.fromtimestamp(time_ns // 10**6 / 1000, UTC).isoformat(timespec="milliseconds")
