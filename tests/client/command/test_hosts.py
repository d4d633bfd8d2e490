"""`flyball hosts`: the fleet, and below it the worst that stands."""

import io
from typing import Any

import pytest
from rich.console import Console

from flyball.command.hosts import fleet, hosts_table, problems


def entry(kind: str, severity: str = "critical", **more: Any) -> dict[str, Any]:
    about = {"id": kind, "host": "a", "gpu": None, "resource": None, "run": None, "rank": None}
    return {**about, "kind": kind, "severity": severity, "because": "it is so", "seconds_left": None, **more}


def overview(*worst: dict[str, Any], critical: int = 0) -> dict[str, Any]:
    """Two hosts; what stands of the first."""
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


def test_each_host_says_what_is_wrong_with_it() -> None:
    """The worst that stands, its severity, and what bounds it; nothing where nothing stands."""
    first, second = fleet(overview(entry("gpu_lost"), entry("gpu_xid")))
    assert (first["attention"], first["problem"], first["primary"]) == ("critical", "gpu_lost", "cpu")
    assert (second["attention"], second["problem"], second["primary"]) == (None, None, None)


def test_the_worst_stands_below_the_table() -> None:
    """A line each with its reason, the same of several GPUs once, and where to ask; what hosts say is no markup."""
    two = [entry("gpu_lost", gpu=f"GPU-{n}", id=str(n)) for n in range(2)]
    lines = [
        line.plain for line in problems(overview(*two, entry("oom_kill", because="[red]killed\x1b[2J"), critical=9))
    ]
    assert lines[0] == "critical  a 2 GPUs: gpu_lost  it is so"
    assert lines[1].startswith("critical  a: oom_kill  [red]killed")
    assert "\x1b" not in lines[1]
    assert lines[2] == "there may be more; why, and what to do: flyball diagnose a"
    assert len(lines) == 3


def test_a_quiet_fleet_has_no_such_lines() -> None:
    """Nothing to say."""
    assert problems(overview()) == []


def test_two_errors_of_one_gpu_are_not_two_gpus() -> None:
    """They are told one by one, each by its name."""
    two = [entry("gpu_xid", gpu="GPU-1", gpu_index=3, resource=f"XID {code}", id=str(code)) for code in (48, 79)]
    lines = [line.plain for line in problems(overview(*two))]
    assert [line.split(": ")[0] for line in lines[:2]] == ["critical  a GPU 3 XID 48", "critical  a GPU 3 XID 79"]


@pytest.mark.parametrize("name", ["gpu-node-0001", "gpu-node-0001.rack-17.cluster.example.org"])
def test_the_table_fits_a_terminal_of_80_columns(name: str) -> None:
    """With the widest figures that hosts have; nothing of a name or a figure is cut off."""
    told = overview()
    wide = {"status": [1, 3], "unavailable": [112, 0], "cpu_ratio": [1.0, 0.5], "memory_ratio": [1.0, None]}
    figures = {"age_seconds": [119 * 60.0, None], "clock_skew_seconds": [-0.9996, -119.0]}
    (first, second) = fleet({**told, **wide, **figures})
    gpus = {"gpus": 16, "gpu_utilization_ratio": 1.0, "gpu_memory_ratio": 1.0, "gpu_temperature_celsius": 104.0}
    console = Console(file=io.StringIO(), width=80)
    console.print(hosts_table([{**first, **gpus, "status": "up", "name": name}, {**second, **gpus}]))
    shown = console.file.getvalue()  # type: ignore[attr-defined]  # given above
    cells = shown.split()
    assert "…" not in shown
    assert max(map(len, shown.splitlines())) <= 80
    assert {"waiting", "104", "-999.6", "-119.00", "119", "never", "112", "READ"} <= set(cells)
    assert "".join(line.split(" ")[0] for line in shown.splitlines()[2:-1]) == name
