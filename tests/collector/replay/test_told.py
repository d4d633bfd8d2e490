"""Events of a played file in the words of its input."""

from pathlib import Path

import pytest

from flyball_collector.replay.csv_series import read
from flyball_collector.replay.told import as_written, play_csv


@pytest.mark.parametrize(
    ("text", "value"), [("57", 57), ("0.30", 0.3), ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"), ("1e3", 1000.0)]
)
def test_times_are_told_as_they_were_written(text: str, value: float | str) -> None:
    """A number stays a number, a date its text."""
    assert as_written(text) == value


def test_times_a_hair_below_a_second_are_played(tmp_path: Path) -> None:
    """Sums of tenths are never whole seconds; each event still has the time that its own sample was written with."""
    file = tmp_path / "series.csv"
    times, at = [], 0.0
    for number in range(400):
        at += 0.1 if number != 200 else 1000.1
        times.append(repr(at))
    file.write_text("timestamp,memory_used_ratio\n" + "".join(f"{time},0.5\n" for time in times))

    events = [event for _, told in play_csv(read([file])) for event in told]

    assert [event["kind"] for event in events if event["state"] == "raised"] == ["data_gap"]
    assert {repr(event["time"]) for event in events} <= set(times)
