"""A file of another tool that is broken or useless ends the command with the fault and the place."""

from pathlib import Path

import pytest

from flyball_collector.replay.csv_rows import COLUMNS
from flyball_collector.replay.csv_series import read
from flyball_collector.replay.errors import ReplayError
from flyball_collector.replay.input_options import InputFormat, InputOptions, columns_of

SMI = "timestamp, index, utilization.gpu [%], power.draw [W]\n"
AT = "2026/01/31 12:00:00.000, 0, "
DMON = "#Entity   GPUTL   POWER\nID\n"
UTIL = 'DCGM_FI_DEV_GPU_UTIL{gpu="0",Hostname="n"}'


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("index, utilization.gpu [%]\n0, 5 %\n", ":1: no column 'timestamp'; add timestamp to --query-gpu"),
        ("timestamp, memory.free [MiB]\n2026/01/31 12:00:00.000, 5 MiB\n", ":1: no column with readings; add some of"),
        (f"{SMI}{AT}forty %, 60 W\n", ":2: utilization.gpu is not a number"),
        (f"{SMI}{AT}40 %, 60 W\nyesterday, 0, 40 %, 60 W\n", ":3: timestamp 'yesterday': expected"),
        (f"{SMI}{AT}40 %, 60 W\n{AT}40\n", ":3: 3 cells instead of 4; is the end of the file missing?"),
        (f"{SMI}{AT}400 %, 60 W\n", ":2: gpu_utilization_ratio 4 is out of range"),
        (SMI, "no rows"),
        (f"{DMON}GPU 0  45\n", ":3: 1 values instead of 2; is the end of the file missing?"),
        (f"{DMON}GPU 0  45  much\n", ":3: POWER 'much' is not a number"),
        (f"{DMON}GPU 0  450  70\n", ":3: gpu_utilization_ratio 4.5 is out of range"),
        (f"{DMON}Error: cannot connect to nv-hostengine\n", ":3: expected a line such as 'GPU 0  98  45'"),
        ("#Entity   SMACT\nGPU 0  0.5\n", ":1: no field with readings; add some of 203"),
        (f"{UTIL} many\n# EOF\n", "is not a number"),
        (f"# HELP x y\n{UTIL} 45\n<html>502 Bad Gateway</html>\n", ":3: not a sample such as"),
        (f"# HELP x y\nx{{{'a' * 5000}}} 1\n", ":2: longer than 4096 characters"),
        (f"{UTIL} 450\n", ":1: DCGM_FI_DEV_GPU_UTIL: gpu_utilization_ratio 4.5 is out of range"),
        ("# HELP x y\nnode_load1 0.5\n", "no metric that is known; known ones are DCGM_FI_DEV_GPU_UTIL"),
        (f"{UTIL} 45 99999999999999999999999\n", ":1: timestamp 99999999999999999999999 is out of range"),
    ],
)
def test_an_error_names_the_line(tmp_path: Path, text: str, error: str) -> None:
    """And what to do about it."""
    path = tmp_path / "gpus.txt"
    path.write_text(text, encoding="utf-8")
    options = InputOptions(every_seconds=1.0)
    if "many" in text:  # not recognised by its first line
        options = InputOptions(InputFormat.PROMETHEUS, 1.0)
    with pytest.raises(ReplayError) as failed:
        read([path], options)
    assert error in str(failed.value)
    assert str(path) in str(failed.value)


@pytest.mark.parametrize("text", [f"{DMON}GPU 0  45  60\n", f"{UTIL} 45\n"])
def test_files_without_times_need_the_interval(tmp_path: Path, text: str) -> None:
    """It is not guessed: forecasts would be wrong by its factor."""
    path = tmp_path / "gpus.txt"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ReplayError, match="add --every SECONDS"):
        read([path])


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("gpu", "not of the form OURS=THEIRS"),
        ("gpu=", "not of the form OURS=THEIRS"),
        ("gpus=index", "'gpus' is not a column; known columns are timestamp, host, gpu"),
        ("gpu_power_watts=mw*x", "'x' is not a positive number"),
        ("gpu_power_watts=mw*0", "'0' is not a positive number"),
    ],
)
def test_names_of_columns_are_checked(text: str, error: str) -> None:
    """Before any file is read."""
    with pytest.raises(ReplayError, match=error.replace("*", r"\*")):
        columns_of([text], COLUMNS)


def test_a_column_that_is_not_there_is_reported(tmp_path: Path) -> None:
    """With the columns that are."""
    path = tmp_path / "a.csv"
    path.write_text("time,power_mw\n1,5\n", encoding="utf-8")
    options = InputOptions(columns=columns_of(["timestamp=time", "gpu_power_watts=power*0.001"], COLUMNS))
    with pytest.raises(ReplayError, match="no column 'power'; the file has 'time', 'power_mw'"):
        read([path], options)
