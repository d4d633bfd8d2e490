"""The first screen of `flyball up`."""

import io
from dataclasses import replace
from typing import Any

from rich.console import Console

from flyball.command.first_screen import Addresses, first_screen

ADDRESSES = Addresses("http://x:1/", "http://x:1/metrics", "http://x:1/openapi.json", ".flyball", "")


def unavailable_reading(probe: str, reason: str, detail: str, remedy: str = "") -> dict[str, Any]:
    return {"probe": probe, "metric": "", "resource": "", "reason": reason, "detail": detail, "remedy": remedy}


def host(name: str = "gpu-01", **more: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    summary = {"name": name, "interval_seconds": 1.0, "columns": 3}
    columns = [{"metric": name} for name in ("cpu_a", "cpu_b", "memory_a", "agent_x")]
    return {"host": summary, "inventory": None, "unavailable": [], **more}, columns


def shown(*hosts: tuple[dict[str, Any], list[dict[str, Any]]], width: int = 200) -> str:
    out = io.StringIO()
    console = Console(file=out, width=width, color_system=None)
    for line in first_screen(hosts, ADDRESSES):
        console.print(line, highlight=False)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def test_it_shows_the_host_and_all_addresses() -> None:
    """CPU, memory, GPUs by model, the largest subsystems, and where to look."""
    gpu = {"model": "H100", "driver_version": "580", "memory_bytes": 80 * 1024**3}
    cpu = {"model": "EPYC", "cores": 96, "threads": 192}
    text = shown(host(inventory={"cpu": cpu, "memory_bytes": 1024**4, "gpus": [gpu] * 8}))
    assert "gpu-01 is watched every second" in text
    assert "EPYC · 96 cores · 192 threads" in text
    assert "1.0 TiB" in text
    assert "8 × H100 · 80.0 GiB · driver 580" in text
    assert "3 readings: cpu, memory\n" in text
    assert "http://x:1/metrics" in text
    assert "flyball top gpu-01" in text
    assert "Unavailable readings" not in text


def test_it_names_the_command_for_changes_only_if_they_are_allowed() -> None:
    """`flyball up` alone has no changes to list, `flyball up --adjust` has."""
    out = io.StringIO()
    for line in first_screen([host()], replace(ADDRESSES, http_option="--collector http://x:1", adjusts=True)):
        Console(file=out, width=200).print(line)
    assert "  changes    flyball adjust list --collector http://x:1 " in out.getvalue()
    assert "adjust" not in shown(host())


def test_unavailable_readings_with_the_same_cause_share_a_line() -> None:
    """Eight GPUs without a fan are one line. Those with a remedy come first."""
    unavailable = [unavailable_reading("nvidia", "unsupported", "no fan")] * 8 + [
        unavailable_reading("rapl", "denied", "mode 0400", "chmod it")
    ]
    text = shown(host(unavailable=unavailable))
    assert "Unavailable readings\n" in text
    assert text.count("no fan") == 1
    assert "rapl" in text
    assert "no permission: mode 0400" in text
    assert "→ chmod it" in text
    assert text.index("chmod it") < text.index("no fan")


def test_a_host_without_an_inventory_is_shown() -> None:
    """Unknown facts are left out."""
    text = shown(host())
    assert "gpu-01" in text
    assert "cores" not in text


def test_text_of_a_host_cannot_control_the_terminal() -> None:
    """Escape codes and markup in names are printed as text."""
    text = shown(host("[red]x\x1b[31m", unavailable=[unavailable_reading("p", "failed", "[/bold]\x1b]0;title\x07")]))
    assert "\x1b" not in text
    assert "[red]x" in text
    assert "[/bold]" in text


def test_a_long_list_of_causes_is_cut() -> None:
    """The last line names the command with the whole list."""
    text = shown(host(unavailable=[unavailable_reading(f"p{n}", "failed", f"reason {n}") for n in range(20)]))
    assert "… and 8 more: flyball agent --check" in text


def test_long_lines_go_on_below_their_value() -> None:
    """In a terminal of 60 columns no word is at the place of a label."""
    lines = shown(host(), width=60).splitlines()
    where = lines[lines.index("Where to look") + 1 :]
    assert '  training   import flyball; run = flyball.run("NAME")  ·' in where
    assert "             flyball run -- python train.py" in where
    assert all(line.startswith("  ") for line in where)


def test_it_shows_where_the_commands_are_if_the_shell_does_not_find_them() -> None:
    """In an environment that is not activated, `flyball hosts` alone would not be found."""
    out = io.StringIO()
    for line in first_screen([host()], replace(ADDRESSES, commands=".venv/bin")):
        Console(file=out, width=200).print(line)
    assert "  commands   are in .venv/bin " in out.getvalue()
    assert "are in" not in shown(host())
