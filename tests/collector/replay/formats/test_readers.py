"""Values that a file of another tool lacks stay unknown, and each GPU and host keeps its readings."""

import gzip
from pathlib import Path

import pytest

from flyball_collector.replay.csv_rows import COLUMNS
from flyball_collector.replay.csv_series import CsvSeries, read
from flyball_collector.replay.input_options import InputFormat, InputOptions, columns_of

GPU0 = (("gpu", "0"), ("index", "0"))


def series(folder: Path, name: str, text: str, **options: object) -> CsvSeries:
    """Read a file with this content."""
    (folder / name).write_text(text, encoding="utf-8")
    return read([folder / name], InputOptions(**options))  # type: ignore[arg-type]  # checked by the call


def test_missing_values_of_nvidia_smi_are_unknown(tmp_path: Path) -> None:
    """Not zero: `[N/A]`, `[Not Supported]`, and a GPU that is lost."""
    head = "timestamp, index, utilization.gpu [%], power.draw [W], temperature.gpu\n"
    lines = "2026/01/31 12:00:00.000, 0, [N/A], 61.20 W, 40\n"
    lines += "2026/01/31 12:00:01.000, 0, 5 %, [GPU is lost], [Unknown Error]\n"
    first, second = series(tmp_path, "node-7.csv", head + lines).samples()
    assert first.host == "node-7"
    assert first.readings == {("gpu_power_watts", GPU0): 61.2, ("gpu_temperature_celsius", GPU0): 40.0}
    assert second.readings == {("gpu_utilization_ratio", GPU0): 0.05}
    assert second.seconds - first.seconds == 1.0


def test_joined_files_and_units_without_space_are_read(tmp_path: Path) -> None:
    """The header may come again; UUIDs name GPUs where there is no index; unknown columns are listed."""
    text = "timestamp, uuid, fan.speed [%], memory.used [MiB]\n2026/01/31 12:00:00, GPU-ab, 30 %, 2MiB\n"
    found = series(tmp_path, "a.csv", text + text.replace("12:00:00", "12:00:01"))
    labels = (("gpu", "GPU-ab"), ("index", ""))
    assert [s.readings for s in found.samples()] == [{("gpu_memory_used_bytes", labels): 2.0 * 2**20}] * 2
    assert found.ignored == ("fan.speed",)


def test_rows_of_a_table_belong_to_a_sample_until_a_gpu_comes_again(tmp_path: Path) -> None:
    """Entities that are not whole GPUs are left out."""
    text = "#Entity   GPUTL   POWER\nID          W\nGPU 0  50  N/A\nGPU-I 0  10  1\nGPU 1  60  70\nGPU 0  55  71\n"
    first, second = series(tmp_path, "node-1.txt", text, every_seconds=2.0).samples()
    assert (first.seconds, second.seconds) == (0.0, 2.0)
    labels = (("gpu", "1"), ("index", "1"))
    assert first.readings == {
        ("gpu_utilization_ratio", GPU0): 0.5,
        ("gpu_utilization_ratio", labels): 0.6,
        ("gpu_power_watts", labels): 70.0,
    }
    assert second.readings == {("gpu_utilization_ratio", GPU0): 0.55, ("gpu_power_watts", GPU0): 71.0}


def test_memory_of_gpus_is_complete_with_what_is_free(tmp_path: Path) -> None:
    """Used and free give the total; a MIG instance does not count; NaN is unknown."""
    labels = 'gpu="0",UUID="GPU-x",Hostname="n1"'
    text = (
        f"DCGM_FI_DEV_FB_USED{{{labels}}} 1000 1700000000000\nDCGM_FI_DEV_FB_FREE{{{labels}}} 3000 1700000000000\n"
        f"DCGM_FI_DEV_GPU_TEMP{{{labels}}} NaN 1700000000000\n"
        f'DCGM_FI_DEV_GPU_UTIL{{GPU_I_ID="3",{labels}}} 9 1700000000000\n'
    )
    (sample,) = series(tmp_path, "a.prom", text).samples()
    assert sample.host == "n1"
    assert sample.readings == {
        ("gpu_memory_used_bytes", GPU0): 1000.0 * 2**20,
        ("gpu_memory_total_bytes", GPU0): 4000.0 * 2**20,
    }


def test_cpus_are_busy_by_the_difference_of_their_counters(tmp_path: Path) -> None:
    """All CPUs together; guests are counted within user; a restart gives no value."""

    def scrape(idle: float, user: float, at: int) -> str:
        lines = (f'node_cpu_seconds_total{{cpu="{cpu}",mode="idle"}} {idle} {at}\n' for cpu in (0, 1))
        others = (f'node_cpu_seconds_total{{cpu="{cpu}",mode="user"}} {user} {at}\n' for cpu in (0, 1))
        guest = f'node_cpu_seconds_total{{cpu="0",mode="guest"}} {user * 5} {at}\n'
        return "".join((*lines, *others, guest))

    text = scrape(10, 10, 1700000000) + scrape(13, 11, 1700000004) + scrape(0, 0, 1700000008) + scrape(1, 3, 1700000012)
    samples = series(tmp_path, "node-3.prom", text).samples()
    found = [(s.host, s.seconds - 1.7e9, s.readings[("cpu_busy_ratio", ())]) for s in samples]
    assert [(host, seconds) for host, seconds, _ in found] == [("node-3", 4.0), ("node-3", 12.0)]
    assert [busy for *_, busy in found] == pytest.approx([0.25, 0.75])


def test_a_format_can_be_named(tmp_path: Path) -> None:
    """Files may be compressed; a CSV file of ours is never taken for another."""
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(b"comment\nnode_memory_MemTotal_bytes 4e9 1\n"))
    text = "node_memory_MemTotal_bytes 4000\nnode_memory_MemAvailable_bytes 1000\n"
    path.write_bytes(gzip.compress(text.encode()))
    (sample,) = read([path], InputOptions(InputFormat.PROMETHEUS, 15.0)).samples()
    assert sample.readings[("memory_used_bytes", ())] == 3000.0
    assert sample.readings[("memory_used_ratio", ())] == 0.75
    (plain,) = series(tmp_path, "b.csv", "timestamp,gpu_power_watts\n1,5\n").samples()
    assert plain.readings == {("gpu_power_watts", GPU0): 5.0}


def test_columns_of_other_names_and_units_are_converted(tmp_path: Path) -> None:
    """A column of theirs that has our name, but was not meant, is ignored."""
    text = "time,index,power_mw,gpu\n1,3,61000,Tesla\n"
    names = ["timestamp=time", "gpu=index", "gpu_power_watts=power_mw*0.001"]
    found = series(tmp_path, "a.csv", text, columns=columns_of(names, COLUMNS))
    (sample,) = found.samples()
    assert sample.readings == {("gpu_power_watts", (("gpu", "3"), ("index", "3"))): pytest.approx(61.0)}
    assert found.ignored == ("gpu (theirs)",)
