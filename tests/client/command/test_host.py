"""`flyball hosts` and `flyball host` against a real collector's HTTP side."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from flyball.command import host, hosts
from flyball.command.api import Api
from flyball.command.errors import CommandError
from flyball.command.readings import amount, duration
from flyball_collector.http.parts import Parts
from flyball_collector.http.testing import Machine, denied, inventory_of, make_parts, serving
from flyball_collector.security.tokens import Role, TokensFile, new_token

HOSTILE = "[red]x[/red]\x1b[31m"


def fleet() -> Parts:
    """Two hosts that report, and one that never did and has a hostile name."""
    parts = make_parts()
    for seed, name in enumerate(("node-a", "node-b")):
        machine = Machine(name, 2, seed=seed)
        parts.fleet.apply(machine.tick(0, parts.clock(), unknown=("gpu_temperature_celsius",) if seed else ()))
        parts.fleet.ensure(name).inventory = inventory_of(machine)
    parts.fleet.ensure("node-a").unavailable = (denied(),)
    parts.fleet.ensure(HOSTILE)
    return parts


async def run(*words: str, keys: str = "") -> Result:
    """Run a command without blocking the event loop, on which the collector answers."""
    app = typer.Typer()
    app.command()(hosts.hosts)
    app.command()(host.host)
    return await asyncio.to_thread(CliRunner().invoke, app, list(words), input=keys, env={"COLUMNS": "160"})


async def test_the_fleet_is_a_table() -> None:
    """Each host is a line with units; unknown is a dash; what a host calls itself does not steer the terminal."""
    async with serving(fleet()) as url:
        result = await run("hosts", "--collector", url)
    lines = result.output.splitlines()
    assert result.exit_code == 0
    assert "HOT" in lines[1]  # headings of two lines stand on it
    assert next(line for line in lines if line.startswith("node-a")).count("°C") == 1
    assert "–" in next(line for line in lines if line.startswith("node-b"))
    assert "[red]x[/red]" in result.output
    assert "\x1b[31m" not in result.output
    assert lines[-1] == "3 hosts, 0 silent, 4 GPUs"


async def test_programs_get_json_in_order() -> None:
    """JSON holds numbers, null for unknown; the order is the one asked for, unknown last."""
    async with serving(fleet()) as url:
        result = await run("hosts", "--collector", url, "--format", "json", "--sort", "heat")
    told = json.loads(result.output)
    assert [each["name"] for each in told] == ["node-a", HOSTILE, "node-b"]
    assert told[0]["gpu_temperature_celsius"] > 40
    assert told[1]["cpu_ratio"] is None


async def test_an_empty_fleet_says_what_to_do() -> None:
    """With no host the next step is named."""
    async with serving(make_parts()) as url:
        assert "flyball agent --set collector=" in (await run("hosts", "--collector", url)).output


async def test_a_host_is_shown_in_sections() -> None:
    """An overview, or every reading with its unit; what is silent has its reason, what is unknown says so."""
    async with serving(fleet()) as url:
        shown = await run("host", "node-a", "--collector", url)
        every = await run("host", "node-a", "--collector", url, "--all")
        unknown = await run("host", "node-b", "--collector", url, "--only", "gpu_temperature")
        told = json.loads((await run("host", "node-a", "--collector", url, "--format", "json")).output)
    assert "of 512 GiB" in shown.output
    assert "cpu_busy_ratio" not in shown.output
    assert "cpu_busy_ratio" in every.output
    assert "2 × NVIDIA H100" in shown.output
    assert "no permission" in shown.output
    assert "denied" in every.output
    assert "CAP_DAC_READ_SEARCH" in shown.output
    assert "unknown" in unknown.output
    assert "cpu_busy_ratio" not in unknown.output
    assert told["host"]["name"] == "node-a"


async def test_a_host_is_removed_only_when_meant() -> None:
    """Removing asks; no leaves everything; --yes does not ask."""
    parts = fleet()
    async with serving(parts) as url:
        refused = await run("host", "remove", "node-a", "--collector", url, keys="n\n")
        assert refused.exit_code == 1
        assert parts.fleet.get("node-a") is not None
        removed = await run("host", "remove", "node-a", "--collector", url, "--yes")
        assert "node-a is forgotten" in removed.output
        assert parts.fleet.get("node-a") is None
        again = await run("host", "remove", "node-a", "--collector", url, "--yes")
        assert "node-b" in str(again.exception)


async def test_a_token_comes_from_a_file(tmp_path: Path) -> None:
    """Without the token the message says how to give one; with it the hosts are listed."""
    token, line = new_token(Role.VIEWER, "ada")
    (tmp_path / "tokens").write_text(line)
    (tmp_path / "mine").write_text(f"{token}\n")
    async with serving(replace(fleet(), tokens=TokensFile(tmp_path / "tokens"))) as url:
        assert "--token-file" in str((await run("hosts", "--collector", url)).exception)
        shown = await run("hosts", "--collector", url, "--token-file", str(tmp_path / "mine"))
        assert shown.exit_code == 0


def test_a_missing_collector_is_said_with_the_way_out() -> None:
    """Nobody there: what, where, and what to do; a wrong address is refused before anything is sent."""
    with pytest.raises(CommandError, match=r"http://127\.0\.0\.1:1 .*refused.*flyball up"):
        Api("http://127.0.0.1:1").get("overview")
    for url in ("file:///etc/passwd", "localhost:3591", "ftp://x"):
        with pytest.raises(CommandError, match="expected a URL"):
            Api(url)


async def test_something_else_at_the_address_is_noticed() -> None:
    """A server that is no collector is named as such, and a redirect is not followed with the token."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await reader.readuntil(b"\r\n\r\n")
        moved = b"moved" in request
        head = (
            b"HTTP/1.0 302 Found\r\nLocation: http://127.0.0.1:1/\r\n\r\n" if moved else b"HTTP/1.0 200 OK\r\n\r\nhello"
        )
        writer.write(head)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server:
        with pytest.raises(CommandError, match="not a Flyball collector"):
            await asyncio.to_thread(Api(url).get, "overview")
        with pytest.raises(CommandError, match="302"):
            await asyncio.to_thread(Api(url, token="secret").get, "moved")


@pytest.mark.parametrize(
    ("value", "unit", "expected"),
    [
        (None, "watts", "–"), (0.0, "ratio", "0 %"), (0.05, "ratio", "5.0 %"), (1.0, "ratio", "100 %"),
        (2.0**34, "bytes", "16.0 GiB"), (71.6, "celsius", "72 °C"), (1.98e9, "hertz", "1.98 GHz"),
        (0.012, "seconds", "12.0 ms"),
        (-0.0042, "seconds", "-4.2 ms"), (3.0, "lanes", "3"), (1.0, "flag", "yes"),
    ],
)  # fmt: skip
def test_values_have_units(value: float | None, unit: str, expected: str) -> None:
    """A value is written with its unit; unknown is a dash, and zero is zero."""
    assert amount(value, unit) == expected


def test_ages_have_one_unit() -> None:
    """An age is told in its largest sensible unit."""
    assert [duration(seconds) for seconds in (3, 125, 7300, 200_000)] == ["3 s", "2 min", "2 h", "2 d"]
