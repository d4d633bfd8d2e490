"""Series from CSV files: the meaning of each column, and the errors for invalid ones."""

import gzip
from pathlib import Path

import pytest

from flyball_collector.replay.csv_series import RUN, CsvSeries, read
from flyball_collector.replay.errors import ReplayError
from flyball_collector.replay.played_events import play_csv


def written(tmp_path: Path, text: str, name: str = "series.csv") -> Path:
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return path


def series(tmp_path: Path, text: str) -> CsvSeries:
    return read([written(tmp_path, text)])


def fault(tmp_path: Path, text: str) -> str:
    with pytest.raises(ReplayError) as caught:
        series(tmp_path, text)
    return str(caught.value).removeprefix(f"{tmp_path}/")


def test_rows_of_one_instant_become_one_sample_per_host(tmp_path: Path) -> None:
    """GPUs are distinguished by their column; an empty cell is unknown, not zero."""
    text = "timestamp,host,gpu,gpu_power_watts,cpu_busy_ratio\n0,a,0,100,0.5\n0,a,1,,\n0,b,0,50,\n1,a,0,110,\n"
    first, other, later = series(tmp_path, text).samples()
    assert (first.host, other.host, later.seconds) == ("a", "b", 1.0)
    assert first.readings == {
        ("gpu_power_watts", (("gpu", "0"), ("index", "0"))): 100.0,
        ("cpu_busy_ratio", ()): 0.5,
    }


def test_steps_belong_to_ranks_in_the_order_of_their_workers(tmp_path: Path) -> None:
    """Worker 10 comes after worker 9; every report has the number of workers."""
    rows = "".join(f"{worker},{worker},7,0.5\n" for worker in (10, 9))
    found = series(tmp_path, "timestamp,worker,step,step_seconds\n" + rows)
    steps = [step for sample in found.samples() for step in sample.steps]
    assert found.workers == ("9", "10")
    assert [(step.run, step.rank, step.world_size, step.step, step.steps) for step in steps] == [
        (RUN, 0, 2, 7, 1),
        (RUN, 1, 2, 7, 1),
    ]
    assert [sample.host for sample in found.samples()] == ["9", "10"]


def test_missing_memory_figures_are_derived(tmp_path: Path) -> None:
    """Used and total bytes give the ratio and the available bytes."""
    (sample,) = series(tmp_path, "timestamp,host,memory_used_bytes,memory_total_bytes\n0,a,75,100\n").samples()
    assert {name: value for (name, _), value in sample.readings.items()} == {
        "memory_used_bytes": 75,
        "memory_total_bytes": 100,
        "memory_available_bytes": 25,
        "memory_used_ratio": 0.75,
    }


def test_times_are_seconds_or_dates_and_files_are_joined_in_time(tmp_path: Path) -> None:
    """Two files, one compressed, become one series in rising time, each row with its time as written."""
    one = written(tmp_path, "timestamp,host,cpu_busy_ratio\n2026-01-01T00:00:01.5Z,a,1\n")
    two = written(tmp_path, "timestamp, host, cpu_busy_ratio\n2026-01-01 00:00:00+00:00, b, 1\n", "two.csv.gz")
    rows = list(read([one, two]).rows)
    assert [(row.host, row.text) for row in rows] == [
        ("b", "2026-01-01 00:00:00+00:00"),
        ("a", "2026-01-01T00:00:01.5Z"),
    ]
    assert rows[1].seconds - rows[0].seconds == 1.5


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("host,cpu_busy_ratio\na,1\n", "series.csv:1: no column 'timestamp'"),
        ("timestamp,host\n0,a\n", "series.csv:1: no column with readings"),
        ("timestamp,cpu_busy_ratio\n0,1\n1,much\n", "series.csv:3: cpu_busy_ratio: 'much' is not a number"),
        ("timestamp,cpu_busy_ratio\nnoon,1\n", "series.csv:2: timestamp 'noon'"),
        ("timestamp,cpu_busy_ratio\n99999999999,1\n", "series.csv:2: timestamp 99999999999 is out of range"),
        ("timestamp,cpu_busy_ratio\n-1,1\n", "series.csv:2: timestamp -1 is out of range"),
        ("timestamp,cpu_busy_ratio\nnan,1\n", "series.csv:2: timestamp nan is out of range"),
        ("timestamp,cpu_busy_ratio\n1e30,1\n", "series.csv:2: timestamp 1e30 is out of range"),
        ("timestamp,cpu_busy_ratio\n9999-01-01,1\n", "series.csv:2: timestamp 9999-01-01 is out of range"),
        ("timestamp,cpu_busy_ratio\n1,95\n", "series.csv:2: cpu_busy_ratio: 95 is out of range; expected a ratio"),
        (
            "timestamp,cpu_busy_ratio,cpu_busy_ratio\n1,1,1\n",
            "series.csv:1: duplicate column 'cpu_busy_ratio'",
        ),
        ("timestamp;cpu_busy_ratio\n1;1\n", "series.csv:1: no column 'timestamp'; columns are separated by ';'"),
        ("timestamp,cpu_busy_ratio\n0,inf\n", "series.csv:2: cpu_busy_ratio: inf is out of range"),
        ("timestamp,cpu_busy_ratio\n", "series.csv: no rows"),
        ("", "series.csv:1: the file is empty; known columns are timestamp, host"),
        (
            "timestamp,cpu_bussy_ratio\n0,1\n",
            "series.csv:1: no column with readings; 'cpu_bussy_ratio': did you mean",
        ),
    ],
)
def test_an_invalid_file_is_refused_with_its_place(tmp_path: Path, text: str, message: str) -> None:
    """The message names the line, the column and the expected form."""
    assert fault(tmp_path, text).startswith(message)


def test_a_binary_file_is_refused(tmp_path: Path) -> None:
    """Binary data and a missing file give one clear line each."""
    path = tmp_path / "series.csv.gz"
    with pytest.raises(ReplayError, match="there is no file"):
        read([path])
    path.write_bytes(b"\x1f\x8b\x02")
    with pytest.raises(ReplayError, match="cannot read"):
        read([path])
    other = tmp_path / "series.csv"
    other.write_bytes(b"timestamp,host,cpu_busy_ratio\n0,\xff\xfe,1\n")
    with pytest.raises(ReplayError, match=r"is not valid UTF-8 \(byte 0xff\)"):
        read([other])


def test_a_compressed_file_is_recognised_by_its_beginning(tmp_path: Path) -> None:
    """Its name does not matter: a .gz file may be plain text, and the other way round."""
    text = "timestamp,cpu_busy_ratio\n0,1\n"
    packed, plain = tmp_path / "series.csv", tmp_path / "series.csv.gz"
    packed.write_bytes(gzip.compress(text.encode()))
    plain.write_text(text, encoding="utf-8")
    assert [read([path]).count for path in (packed, plain)] == [1, 1]


@pytest.mark.parametrize("parts", [1, 10**3, 10**6, 10**9])
def test_units_of_times_are_recognised_by_size(tmp_path: Path, parts: int) -> None:
    """Milliseconds, microseconds and nanoseconds since 1970 replay like the same seconds."""
    rows = "".join(f"{(1_770_000_000 + second) * parts},1\n" for second in (0, 3))
    first, second = series(tmp_path, "timestamp,cpu_busy_ratio\n" + rows).samples()
    assert (first.seconds, second.seconds) == (1_770_000_000, 1_770_000_003)
    assert first.text == str(1_770_000_000 * parts)


def test_the_latest_times_can_be_replayed(tmp_path: Path) -> None:
    """A jump from zero to the last accepted second overflows nothing."""
    found = series(tmp_path, "timestamp,host,cpu_busy_ratio\n0,a,1\n6999999999,a,1\n")
    assert sum(1 for _ in play_csv(found)) == 2


def test_unknown_columns_are_listed_and_ignored(tmp_path: Path) -> None:
    """A column of another program does no harm."""
    found = series(tmp_path, "timestamp,host,cpu_busy_ratio,mood\n0,a,1,good\n")
    assert found.ignored == ("mood",)
    assert [set(sample.readings) for sample in found.samples()] == [{("cpu_busy_ratio", ())}]
