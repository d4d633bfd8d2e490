"""`flyball hosts`: the table of hosts and the active problems."""

import io
from typing import Any

import pytest
from rich.console import Console, Group

from flyball.command.hosts import fleet, hosts_table, problems


def lines_of(overview: dict[str, Any]) -> list[str]:
    """Return the problems as a wide terminal shows them."""
    console = Console(file=io.StringIO(), width=200, highlight=False)
    console.print(Group(*problems(overview)))
    return [line.rstrip() for line in console.file.getvalue().splitlines()]  # type: ignore[attr-defined]  # given above


def entry(kind: str, severity: str = "critical", **more: Any) -> dict[str, Any]:
    about = {"id": kind, "host": "a", "gpu": None, "resource": None, "run": None, "rank": None}
    return {**about, "kind": kind, "severity": severity, "because": "it is so", "seconds_left": None, **more}


def overview(*worst: dict[str, Any], critical: int = 0) -> dict[str, Any]:
    """Return the overview of two hosts; the entries are problems of the first one."""
    unknown: list[float | None] = [None, None]
    ratios = ("cpu_ratio", "memory_ratio", "age_seconds", "clock_skew_seconds")
    gpus = ("gpu_utilization_ratio", "gpu_memory_ratio", "gpu_temperature_celsius")
    return {
        "hosts": {"names": ["a", "b"], "gpus": [0, 0]},
        "status": [0, 0],
        "unavailable": [0, 0],
        "attention": [3 if worst else 0, 0],
        "primary": ["cpu", None],
        "worst": list(worst),
        "active": {"critical": critical or len(worst), "warning": 0, "info": 0},
        **dict.fromkeys(ratios, unknown),
        **{key: [] for key in gpus},
    }


def test_each_host_has_its_worst_problem() -> None:
    """With its severity and the primary bottleneck; a host without problems has none of them."""
    first, second = fleet(overview(entry("gpu_lost"), entry("gpu_xid")))
    assert (first["attention"], first["problem"], first["primary"]) == ("critical", "gpu_lost", "cpu")
    assert (second["attention"], second["problem"], second["primary"]) == (None, None, None)


def test_active_problems_are_listed() -> None:
    """One line each with its reason, equal ones of several GPUs once, and the next command. Text is not markup."""
    two = [entry("gpu_lost", gpu=f"GPU-{n}", id=str(n)) for n in range(2)]
    lines = lines_of(overview(*two, entry("oom_kill", because="[red]killed\x1b[2J"), critical=9))
    assert lines[0] == "Active problems"
    assert lines[1] == "critical  a 2 GPUs: gpu_lost  it is so"
    assert lines[2].startswith("critical  a: oom_kill  [red]killed")
    assert "\x1b" not in lines[2]
    assert lines[3] == "Details: flyball diagnose a. There may be more problems: flyball events"
    assert len(lines) == 4


def test_a_fleet_without_problems_has_one_line() -> None:
    """It is the only line."""
    assert lines_of(overview()) == ["No active problems."]


def test_two_errors_of_one_gpu_are_two_problems() -> None:
    """They are listed separately, each with its resource."""
    two = [entry("gpu_xid", gpu="GPU-1", gpu_index=3, resource=f"XID {code}", id=str(code)) for code in (48, 79)]
    lines = lines_of(overview(*two))
    assert [line.split(": ")[0] for line in lines[1:3]] == ["critical  a GPU 3 XID 48", "critical  a GPU 3 XID 79"]


@pytest.mark.parametrize("name", ["gpu-node-0001", "gpu-node-0001.rack-17.cluster.example.org"])
def test_the_table_fits_a_terminal_of_80_columns(name: str) -> None:
    """With the widest values of a host; no name and no value is cut off."""
    wide = {"status": [1, 3], "unavailable": [112, 0], "cpu_ratio": [1.0, 0.5], "memory_ratio": [1.0, None]}
    figures = {"age_seconds": [119 * 60.0 + 50, None], "clock_skew_seconds": [-0.9996, -59.0]}
    (first, second) = fleet({**overview(), **wide, **figures})
    gpus = {"gpus": 16, "gpu_utilization_ratio": 1.0, "gpu_memory_ratio": 1.0, "gpu_temperature_celsius": 104.0}
    console = Console(file=io.StringIO(), width=80)
    console.print(hosts_table([{**first, **gpus, "status": "up", "name": name}, {**second, **gpus}, first]))
    shown = console.file.getvalue()  # type: ignore[attr-defined]  # given above
    assert "…" not in shown
    assert max(map(len, shown.splitlines())) <= 80
    assert {"waiting", "104", "-999.6", "-59.00", "never", "112", "not", "reporting", "AVAIL.", "SKEW"} <= set(
        shown.split()
    )
    assert "".join(line.split(" ")[0] for line in shown.splitlines()[2:]).startswith(name)
