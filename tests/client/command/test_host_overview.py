"""A host at a glance."""

from typing import Any

import pytest
from rich.console import Console, Group

from flyball.command.host_overview import overview

GIB = 2**30
HOSTILE = "[red]x[/red]\x1b[31m"


def reading(metric: str, value: float | None, **labels: str) -> dict[str, Any]:
    return {"metric": metric, "labels": labels, "value": value, "unit": "", "kind": "gauge"}


def told(*readings: dict[str, Any], second: float = 0.0, epoch: str = "e") -> dict[str, Any]:
    return {"readings": list(readings), "conditions": [], "epoch": epoch, "time_unix": second}


def shown(now: dict[str, Any], before: dict[str, Any] | None = None) -> list[str]:
    console = Console(width=100, color_system=None)
    with console.capture() as captured:
        console.print(Group(*overview(now, before)))
    return [line.rstrip() for line in captured.get().splitlines() if line.strip()]


def gpu(index: int, busy: float | None, **more: float) -> list[dict[str, Any]]:
    of = {"gpu": f"GPU-{index}", "index": str(index)}
    return [reading("gpu_utilization_ratio", busy, **of), *(reading(name, more[name], **of) for name in more)]


def test_load_is_bars_with_units() -> None:
    """A share each, and of what; what is unknown is a dash and an empty bar, what is not there has no line."""
    load = (reading("load_average", 3.5, window="1m"), reading("cpu_threads_online", 8.0))
    lines = shown(told(reading("cpu_busy_ratio", 0.5), *load, reading("memory_used_ratio", None)))
    assert lines == ["CPU    ██████████·········· 50 % load 3.5 on 8 threads", "memory ····················    –"]


def test_what_fills_up_is_named() -> None:
    """Swap, shared memory, a group's memory and each mount; names of hosts are text."""
    swap = (reading("swap_total_bytes", 8.0 * GIB), reading("swap_used_bytes", 2.0 * GIB))
    group = reading("cgroup_memory_used_ratio", 0.9)
    mount = (
        reading("filesystem_used_ratio", 0.25, mount=HOSTILE),
        reading("filesystem_available_bytes", 1.0 * GIB, mount=HOSTILE),
    )
    text = "\n".join(shown(told(*swap, group, *mount, reading("pressure_ratio", 0.4, resource="io", extent="some"))))
    assert "25 % 2.0 GiB of 8.0 GiB" in text
    assert "group memory" in text
    assert "25 % 1.0 GiB free" in text
    assert "[red]x[/red]" in text
    assert "\x1b[31m" not in text
    assert "wait for I/O" in text


def test_each_gpu_is_a_line_in_the_order_of_its_numbers() -> None:
    """Tenth after ninth; what one does not tell is a dash; a lost one is said to be lost, a slow one why."""
    held = reading("gpu_throttle_active", 1.0, gpu="GPU-2", index="2", reason="hw_thermal")
    idle = reading("gpu_throttle_active", 0.0, gpu="GPU-2", index="2", reason="sw_power_cap")
    lost = reading("gpu_lost", 1.0, gpu="GPU-3", index="3")
    lines = shown(told(*gpu(10, 0.9, gpu_power_watts=300.0), *gpu(2, 0.5), held, idle, lost))
    gpus = [line.split() for line in lines if line.split()[0].isdigit()]
    assert [words[0] for words in gpus] == ["2", "3", "10"]
    assert gpus[0][1:3] == ["50", "%"]
    assert gpus[0][-2:] == ["hw", "thermal"]
    assert gpus[1][1:] == ["–"] * 8 + ["lost"]
    assert "300 W" in lines[-1]


def test_a_host_without_gpus_has_no_table_of_them() -> None:
    """Nothing is drawn of what is not there."""
    assert not any("GPU" in line for line in shown(told(reading("cpu_busy_ratio", 0.5))))


def disk(value: float, **more: Any) -> dict[str, Any]:
    return told(
        reading("disk_read_bytes_total", value, device="a"), reading("disk_read_bytes_total", 7.0, device="b"), **more
    )


def test_traffic_is_what_has_grown_since() -> None:
    """A second, over all devices; a counter that fell grew by nothing known."""
    assert "disks  read 2.0 KiB/s, written –" in shown(disk(10_240.0, second=4.0), disk(2048.0))[2]
    assert "disks  read 0 B/s" in shown(disk(1.0, second=4.0), disk(2048.0))[2]


@pytest.mark.parametrize("before", [None, disk(0.0, epoch="other"), disk(0.0, second=4.0)])
def test_without_a_record_before_there_is_no_traffic(before: dict[str, Any] | None) -> None:
    """The first look, an agent that was started again, the same record twice: nothing is invented."""
    assert not any("disks" in line for line in shown(disk(1.0, second=4.0), before))


def test_only_alarms_stand_above() -> None:
    """A warning is shown with its reason, what is for looking at is not."""
    about = dict.fromkeys(("gpu", "run", "rank", "resource", "seconds_left")) | {"host": "a", "confidence": 0.9}
    kinds = (("disk_full", "warning"), ("bottleneck_cpu", "info"))
    stands = [{"id": kind, "kind": kind, "severity": worth, "because": "so", **about} for kind, worth in kinds]
    text = "\n".join(shown(told() | {"conditions": stands}))
    assert "disk_full  a  90% sure" in text
    assert "bottleneck_cpu" not in text
