"""Events of a played recording, as people and programs read them."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TypedDict

from flyball_collector.diagnosis.event import Event
from flyball_collector.diagnosis.player import Player, recording
from flyball_collector.diagnosis.settings import DiagnosisSettings
from flyball_collector.replay.csv_series import CsvSeries, Row


class ToldEvent(TypedDict):
    """One event; `time` is the input's own word for it."""

    time: float | int | str
    host: str
    gpu: str | None
    worker: str | None
    kind: str
    state: str
    severity: str
    confidence: float
    seconds_left: float | None
    because: str
    resource: str | None
    evidence: dict[str, float]


def play_csv(series: CsvSeries, settings: DiagnosisSettings | None = None) -> Iterator[tuple[float, list[ToldEvent]]]:
    """Play the series: each second's share of all that is done, and its events."""
    samples = list(series.samples())
    player = Player(recording(samples), settings)
    seconds = _seconds(series.rows)
    for number, ((_, events), rows) in enumerate(zip(player.play(), seconds, strict=True), 1):
        texts = {row.host: row.text for row in rows}
        yield (
            number / len(seconds),
            [_told(event, texts.get(event.subject.host, rows[-1].text), series) for event in events],
        )


def _seconds(rows: Sequence[Row]) -> list[list[Row]]:
    """The rows of each second, as the player takes them together."""
    return [list(together) for _, together in groupby(rows, key=lambda row: int(row.seconds // 1))]


def _told(event: Event, text: str, series: CsvSeries) -> ToldEvent:
    subject = event.subject
    return {
        "time": as_written(text),
        "host": subject.host,
        "gpu": subject.gpu or None,
        "worker": series.workers[subject.rank] if subject.rank is not None else None,
        "kind": event.kind.name,
        "state": event.state.value,
        "severity": event.severity.word,
        "confidence": round(event.confidence, 3),
        "seconds_left": None if event.seconds_left is None else round(event.seconds_left, 1),
        "because": event.because,
        "resource": subject.resource or None,
        "evidence": {name: float(f"{value:.6g}") for name, value in event.evidence.items()},
    }


def as_written(text: str) -> float | int | str:
    """A number where a number stands there, else the text."""
    for form in (int, float):
        try:
            return form(text)
        except ValueError:
            continue
    return text
