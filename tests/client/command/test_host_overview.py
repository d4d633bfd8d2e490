"""One screen about a host."""

from typing import Any

import pytest
from rich.console import Console, Group

from flyball.command.host_overview import overview

GIB = 2**30
HOSTILE = "[red]x[/red]\x1b[31m"


def reading(metric: str, value: float | None, **labels: str) -> dict[str, Any]:
    return {"metric": metric, "labels": labels, "value": value, "unit": "", "kind": "gauge"}


def state(*readings: dict[str, Any], second: float = 0.0, epoch: str = "e") -> dict[str, Any]:
    return {"readings": list(readings), "conditions": [], "epoch": epoch, "time_unix": second}


def shown(now: dict[str, Any], before: dict[str, Any] | None = None) -> list[str]:
    console = Console(width=100, color_system=None)
    with console.capture() as captured:
        console.print(Group(*overview(now, before)))
    return [line.rstrip() for line in captured.get().splitlines() if line.strip()]


def gpu(index: int, busy: float | None, **more: float) -> list[dict[str, Any]]:
    of = {"gpu": f"GPU-{index}", "index": str(index)}
    return [reading("gpu_utilization_ratio", busy, **of), *(reading(name, more[name], **of) for name in more)]


def test_load_is_shown_as_bars_with_units() -> None:
    """An unknown ratio is a dash with an empty bar; a metric that the host does not have is left out."""
    load = (reading("load_average", 3.5, window="1m"), reading("cpu_threads_online", 8.0))
    lines = shown(state(reading("cpu_busy_ratio", 0.5), *load, reading("memory_used_ratio", None)))
    assert lines == ["CPU    ██████████·········· 50 % load 3.5 on 8 threads", "memory ····················    –"]


def test_everything_that_can_fill_up_is_shown() -> None:
    """Swap, shared memory, cgroup memory and each mount; names of hosts are not markup."""
    swap = (reading("swap_total_bytes", 8.0 * GIB), reading("swap_used_bytes", 2.0 * GIB))
    group = reading("cgroup_memory_used_ratio", 0.9)
    mount = (
        reading("filesystem_used_ratio", 0.25, mount=HOSTILE),
        reading("filesystem_available_bytes", 1.0 * GIB, mount=HOSTILE),
    )
    text = "\n".join(shown(state(*swap, group, *mount, reading("pressure_ratio", 0.4, resource="io", extent="some"))))
    assert "25 % 2.0 GiB of 8.0 GiB" in text
    assert "cgroup memory" in text
    assert "1.0 GiB free" in text
    assert "[red]x[/red]" in text
    assert "\x1b" not in text
    assert "I/O pressure" in text


def test_each_gpu_is_one_line_in_the_order_of_the_indices() -> None:
    """10 comes after 9; unknown values are a dash; a lost GPU is marked, and a slow one has its reason."""
    held = reading("gpu_throttle_active", 1.0, gpu="GPU-2", index="2", reason="hw_thermal")
    idle = reading("gpu_throttle_active", 0.0, gpu="GPU-2", index="2", reason="sw_power_cap")
    lost = reading("gpu_lost", 1.0, gpu="GPU-3", index="3")
    lines = shown(state(*gpu(10, 0.9, gpu_power_watts=300.0), *gpu(2, 0.5), held, idle, lost))
    gpus = [line.split() for line in lines if line.split()[0].isdigit()]
    assert [words[0] for words in gpus] == ["2", "3", "10"]
    assert gpus[0][1:3] == ["50", "%"]
    assert gpus[0][-2:] == ["hw", "thermal"]
    assert gpus[1][1:] == ["–"] * 8 + ["lost"]
    assert "300 W" in lines[-1]


def test_a_host_without_gpus_has_no_table_of_gpus() -> None:
    """Empty sections are left out."""
    assert not any("GPU" in line for line in shown(state(reading("cpu_busy_ratio", 0.5))))


def disk(value: float, **more: Any) -> dict[str, Any]:
    return state(
        reading("disk_read_bytes_total", value, device="a"), reading("disk_read_bytes_total", 7.0, device="b"), **more
    )


def test_traffic_is_the_growth_of_the_counters_per_second() -> None:
    """Over all devices. The growth of a counter that fell is unknown."""
    assert "disks  read 2.0 KiB/s, written –" in shown(disk(10_240.0, second=4.0), disk(2048.0))[2]
    assert "disks  read 0 B/s" in shown(disk(1.0, second=4.0), disk(2048.0))[2]


@pytest.mark.parametrize("before", [None, disk(0.0, epoch="other"), disk(0.0, second=4.0)])
def test_without_an_earlier_record_there_is_no_traffic(before: dict[str, Any] | None) -> None:
    """On the first look, after a restart of the agent, and for the same record twice."""
    assert not any("disks" in line for line in shown(disk(1.0, second=4.0), before))


def test_active_warnings_and_worse_are_shown_above() -> None:
    """With their reasons; mere information is left out."""
    about = dict.fromkeys(("gpu", "run", "rank", "resource", "seconds_left")) | {"host": "a", "confidence": 0.9}
    kinds = (("disk_full", "warning"), ("bottleneck_cpu", "info"))
    active = [{"id": kind, "kind": kind, "severity": severity, "because": "so", **about} for kind, severity in kinds]
    text = "\n".join(shown(state() | {"conditions": active}))
    assert "Active problems" in text
    assert "disk_full  a  90 % confidence" in text
    assert "bottleneck_cpu" not in text
