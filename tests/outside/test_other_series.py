"""Series in the formats of nvidia-smi, DCGM, node_exporter and cluster traces give the same events as in ours.

The series are drawn here, in the formats that those tools write.
"""

import random
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import pytest

from flyball_collector.replay.csv_rows import COLUMNS
from flyball_collector.replay.csv_series import read
from flyball_collector.replay.input_options import InputOptions, columns_of
from flyball_collector.replay.played_events import play_csv

BEGAN = datetime(2026, 1, 31, 12, tzinfo=UTC).timestamp()
MINUTES = 12
EVERY = 5


class Second(NamedTuple):
    """One sample of one GPU."""

    seconds: float
    gpu: int
    percent: int
    watts: float
    limit: float
    heat: int
    used_mib: int
    clock: int


def training(seed: int) -> list[Second]:
    """Two GPUs at their power limit; memory is steady."""
    rng = random.Random(seed)
    return [
        Second(
            BEGAN + at, gpu, rng.randint(96, 100), 390 + rng.uniform(0, 9), 400, 60 + rng.randint(0, 2), 70_000, 1400
        )
        for at in range(0, MINUTES * 60, EVERY)
        for gpu in (0, 1)
    ]


def ours(seconds: Sequence[Second]) -> Iterator[str]:
    """The columns of `flyball replay`."""
    yield (
        "timestamp,host,gpu,gpu_utilization_ratio,gpu_power_watts,gpu_power_limit_watts,gpu_temperature_celsius,"
        "gpu_memory_used_bytes,gpu_memory_total_bytes,gpu_sm_clock_hertz"
    )
    for s in seconds:
        used, total = s.used_mib * 2**20, 81_559 * 2**20
        yield (
            f"{s.seconds},node-1,{s.gpu},{s.percent / 100},{s.watts:.2f},{s.limit},{s.heat},{used},{total},{s.clock}e6"
        )


def smi(seconds: Sequence[Second], *, units: bool = True) -> Iterator[str]:
    """`nvidia-smi --query-gpu=timestamp,index,…`; `nounits` leaves the units of the header."""
    percent, watts, mib, megahertz = (" %", " W", " MiB", " MHz") if units else ("", "", "", "")
    yield (
        "timestamp, name, index, utilization.gpu [%], power.draw [W], power.limit [W], temperature.gpu, "
        "memory.used [MiB], memory.total [MiB], clocks.current.sm [MHz], fan.speed [%]"
    )
    for s in seconds:
        at = datetime.fromtimestamp(s.seconds, UTC).strftime("%Y/%m/%d %H:%M:%S.000")
        yield (
            f"{at}, NVIDIA H100 80GB HBM3, {s.gpu}, {s.percent}{percent}, {s.watts:.2f}{watts}, {s.limit:.2f}{watts}, "
            f"{s.heat}, {s.used_mib}{mib}, 81559{mib}, {s.clock}{megahertz}, [N/A]"
        )


def dmon(seconds: Sequence[Second]) -> Iterator[str]:
    """`dcgmi dmon -e 203,155,160,150,252,250,100,157 -d 5000`; the header comes again and again."""
    for number, s in enumerate(seconds):
        if number % 40 == 0:
            yield "#Entity   GPUTL   POWER     PMLMT     TMPTR   FBUSD    FBTTL    SMCLK   MMTMP"
            yield "ID                W         W         C                                C"
        yield f"GPU {s.gpu}     {s.percent}   {s.watts:.2f}  {s.limit}  {s.heat}  {s.used_mib}  81559  {s.clock}  N/A"


def exporter(seconds: Sequence[Second], *, times: bool) -> Iterator[str]:
    """Scrapes of dcgm-exporter, one after the other; /federate adds the times."""
    for s in seconds:
        labels = f'gpu="{s.gpu}",UUID="GPU-{s.gpu}",device="nvidia{s.gpu}",modelName="NVIDIA H100",Hostname="node-1"'
        at = f" {s.seconds * 1000:.0f}" if times else ""
        yield "# HELP DCGM_FI_DEV_GPU_UTIL GPU utilization (in %)."
        yield "# TYPE DCGM_FI_DEV_GPU_UTIL gauge"
        yield f"DCGM_FI_DEV_GPU_UTIL{{{labels}}} {s.percent}{at}"
        yield f"DCGM_FI_DEV_POWER_USAGE{{{labels}}} {s.watts:.2f}{at}"
        yield f"DCGM_FI_DEV_ENFORCED_POWER_LIMIT{{{labels}}} {s.limit}{at}"
        yield f"DCGM_FI_DEV_GPU_TEMP{{{labels}}} {s.heat}{at}"
        yield f"DCGM_FI_DEV_FB_USED{{{labels}}} {s.used_mib}{at}"
        yield f"DCGM_FI_DEV_FB_FREE{{{labels}}} {81_559 - s.used_mib}{at}"
        yield f"DCGM_FI_DEV_SM_CLOCK{{{labels}}} {s.clock}{at}"
        yield f"DCGM_FI_DEV_XID_ERRORS{{{labels}}} 0{at}"


def written(path: Path, lines: Iterator[str]) -> Path:
    """Write a file."""
    path.write_text("\n".join([*lines, ""]), encoding="utf-8")
    return path


def events(path: Path, options: InputOptions | None = None) -> list[tuple[object, ...]]:
    """Return the events of a file, with their distance from the first sample's time."""
    series = read([path], options)
    first = series.outline.first_seconds
    return [
        (event["kind"], event["state"], event["gpu"], round(event["confidence"], 6), round(float(at) - first, 3))
        for _, played in play_csv(series)
        for event in played
        for at in [_seconds(event["time"])]
    ]


def _seconds(time: object) -> float:
    """Return seconds of a time in any notation of the inputs."""
    if isinstance(time, str) and "/" in time:
        return datetime.strptime(time, "%Y/%m/%d %H:%M:%S.%f").replace(tzinfo=UTC).timestamp()
    number = float(str(time))
    return number / 1000 if number > 1e11 else number


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[object, ...]]:
    """Return the events of the series in our own format."""
    found = events(written(tmp_path_factory.mktemp("ours") / "ours.csv", ours(training(1))))
    assert found, "the series must show something"
    return found


@pytest.mark.parametrize(
    ("name", "lines", "every"),
    [
        ("node-1.csv", lambda: smi(training(1)), None),
        ("node-1.csv", lambda: smi(training(1), units=False), None),
        ("node-1.txt", lambda: dmon(training(1)), EVERY),
        ("scrapes.prom", lambda: exporter(training(1), times=True), None),
        ("scrapes.prom", lambda: exporter(training(1), times=False), EVERY),
    ],
    ids=["nvidia-smi", "nvidia-smi nounits", "dcgmi dmon", "federate", "scrapes"],
)
def test_gpus_of_other_tools_give_the_same_events(
    tmp_path: Path, expected: list[tuple[object, ...]], name: str, lines: object, every: float | None
) -> None:
    """The format is recognised, and units are converted: the same kinds at the same times, just as sure."""
    assert callable(lines)
    assert events(written(tmp_path / name, lines()), InputOptions(every_seconds=every)) == expected


def filling(seed: int) -> list[tuple[float, float]]:
    """The share of memory used by a pod: steady for an hour, then it fills within half an hour."""
    rng = random.Random(seed)
    steady = [(57.0 * n, 0.4 + rng.uniform(-0.002, 0.002)) for n in range(60)]
    return steady + [(57.0 * n, 0.4 + 0.018 * (n - 59)) for n in range(60, 93)]


def node_exporter(shares: Sequence[tuple[float, float]]) -> Iterator[str]:
    """A dump of Prometheus: one series after the other, each with its times."""
    instance = 'instance="pod-7:9100",job="node"'
    times = [f"{at * 1000 + 1e12:.0f}" for at, _ in shares]
    for time in times:
        yield f'{{__name__="node_memory_MemTotal_bytes",{instance}}} 6.4e+10 {time}'
    for time, (_, share) in zip(times, shares, strict=True):
        yield f'{{__name__="node_memory_MemAvailable_bytes",{instance}}} {6.4e10 * (1 - share):.0f} {time}'
    for time, (at, _) in zip(times, shares, strict=True):
        for mode, seconds in (("idle", at * 1.5), ("user", at * 0.4), ("system", at * 0.1), ("guest", at * 0.4)):
            yield f'{{__name__="node_cpu_seconds_total",cpu="0",mode="{mode}",{instance}}} {seconds} {time}'


def pods(shares: Sequence[tuple[float, float]]) -> Iterator[str]:
    """A cluster trace: percent under another name, every 57 s."""
    yield "pod_sn,time_stamp,mem_util_percent,cpu_util_percent"
    for at, share in shares:
        yield f"pod-7,{at + 1e9},{100 * share:.4f},25"


def test_a_pod_that_fills_up_is_found_in_each_format(tmp_path: Path) -> None:
    """A cluster trace needs the names of its columns; a dump of Prometheus needs nothing. Both name the pod."""
    shares = filling(3)
    names = ["timestamp=time_stamp", "host=pod_sn", "memory_used_ratio=mem_util_percent*0.01",
             "cpu_busy_ratio=cpu_util_percent*0.01"]  # fmt: skip
    trace = read([written(tmp_path / "trace.csv", pods(shares))], InputOptions(columns=columns_of(names, COLUMNS)))
    dump = read([written(tmp_path / "dump.txt", node_exporter(shares))])
    for series in (trace, dump):
        found = [event for _, played in play_csv(series) for event in played]
        raised = [event for event in found if (event["kind"], event["state"]) == ("memory_exhaustion", "raised")]
        assert [event["host"] for event in raised] == ["pod-7"]
    key = ("cpu_busy_ratio", ())
    busy = [sample.readings[key] for sample in dump.samples() if key in sample.readings]
    assert busy == pytest.approx([0.25] * (len(shares) - 1))
