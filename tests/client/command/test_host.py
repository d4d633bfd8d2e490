"""`flyball hosts` and `flyball host` against a real collector's HTTP side."""

import asyncio
import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from flyball.command import host, hosts
from flyball.command.api import Api
from flyball.command.errors import CommandError, WrongArgument
from flyball.command.readings import amount, duration, utc_time
from flyball_collector.http.collector_parts import CollectorParts
from flyball_collector.http.server import tls_context
from flyball_collector.http.testing import MachineDouble, denied, inventory_of, make_parts, serving
from flyball_collector.refused_agents import RefusedAgents
from flyball_collector.security.tokens import Role, TokensFile, new_token
from flyball_collector.settings import HttpSettings

HOSTILE = "[red]x[/red]\x1b[31m"


def fleet() -> CollectorParts:
    """Return two hosts that report, and one that never reported and has a hostile name."""
    parts = make_parts()
    for seed, name in enumerate(("node-a", "node-b")):
        machine = MachineDouble(name, 2, seed=seed)
        parts.fleet.apply(machine.tick(0, parts.clock(), unknown=("gpu_temperature_celsius",) if seed else ()))
        parts.fleet.ensure(name).inventory = inventory_of(machine)
    parts.fleet.ensure("node-a").unavailable = (denied(),)
    parts.fleet.ensure(HOSTILE)
    return parts


async def run(*words: str, keys: str = "") -> Result:
    """Run a command in a thread, because the collector answers on the event loop."""
    app = typer.Typer()
    app.command()(hosts.hosts)
    app.command()(host.host)
    return await asyncio.to_thread(CliRunner().invoke, app, list(words), input=keys)


async def test_the_fleet_is_a_table() -> None:
    """Each host is a line with units; unknown values are a dash; names cannot control the terminal."""
    async with serving(fleet()) as url:
        result = await run("hosts", "--collector", url)
    lines = result.output.splitlines()
    assert result.exit_code == 0
    assert lines[0].split("  ")[0] == "HOST"  # a pipe gets one line of headings
    assert "LAST SEEN" in lines[0]
    assert next(line for line in lines if line.startswith("node-a")).count("°C") == 1
    assert "–" in next(line for line in lines if line.startswith("node-b"))
    assert "[red]x[/red]" in result.output
    assert "\x1b[31m" not in result.output
    assert lines[-2:] == ["3 hosts, 0 not reporting, 4 GPUs", "No active problems."]


async def test_a_pipe_gets_whole_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Output that does not go to a terminal is not wrapped or cut, whatever COLUMNS is."""
    monkeypatch.setenv("COLUMNS", "40")
    parts = fleet()
    name = "n" * 150
    parts.fleet.apply(MachineDouble(name, 2).tick(0, parts.clock()))
    async with serving(parts) as url:
        listed = (await run("hosts", "--collector", url)).output
        shown = (await run("host", "node-a", "--collector", url, "--all")).output
    assert any(line.startswith(f"{name} ") for line in listed.splitlines())
    assert any("CAP_DAC_READ_SEARCH" in line and "no permission" in line for line in shown.splitlines())


async def test_json_is_sorted_and_has_null_for_unknown_values() -> None:
    """Numbers are numbers; hosts with an unknown value are last."""
    async with serving(fleet()) as url:
        result = await run("hosts", "--collector", url, "--format", "json", "--sort", "heat")
    found = json.loads(result.output)["hosts"]
    assert [each["name"] for each in found] == ["node-a", HOSTILE, "node-b"]
    assert found[0]["gpu_temperature_celsius"] > 40
    assert found[1]["cpu_ratio"] is None


async def test_a_host_that_stopped_is_not_reporting() -> None:
    """In words for people, as `not_reporting` in JSON."""
    parts = fleet()
    parts.fleet.apply(MachineDouble("late", 1).tick(0, parts.clock() - 10**12))
    async with serving(parts) as url:
        table = (await run("hosts", "--collector", url)).output
        shown = (await run("host", "late", "--collector", url)).output
        found = json.loads((await run("hosts", "--collector", url, "--format", "json")).output)["hosts"]
    assert "not reporting" in next(line for line in table.splitlines() if line.startswith("late"))
    assert "1 not reporting" in table
    assert shown.startswith("late  not reporting  reported 16 min 40 s ago")
    assert {each["name"]: each["status"] for each in found}["late"] == "not_reporting"


async def test_an_empty_fleet_shows_the_next_step() -> None:
    """It is the command that starts an agent."""
    async with serving(make_parts()) as url:
        assert "flyball agent --set collector=" in (await run("hosts", "--collector", url)).output


@pytest.mark.parametrize("parts", [make_parts(), fleet()], ids=["no hosts", "hosts"])
async def test_refused_agents_are_listed_under_the_table(parts: CollectorParts) -> None:
    """Each has its name, address and reason; JSON has them too. Text from outside cannot control the terminal."""
    refused = RefusedAgents(clock=lambda: parts.clock() / 1e9)
    for _ in range(3):
        refused.record(host="node-9", certificate="node-8", address="10.0.0.9", reason="certificate is for node-8")
    refused.record(host=HOSTILE, certificate="", address="", reason="[red]no\x1b[2J certificate")
    async with serving(replace(parts, refused_agents=refused.recent)) as url:
        lines = (await run("hosts", "--collector", url)).output.splitlines()
        found = json.loads((await run("hosts", "--collector", url, "--format", "json")).output)
    assert lines[-3] == "Agents refused in the last hour"
    assert lines[-2].startswith("[red]x[/red]")
    assert "[red]no" in lines[-2]
    assert "\x1b" not in lines[-2]
    assert lines[-1].split("  ") == ["node-9 at 10.0.0.9", "certificate is for node-8 (3 times)"]
    assert [each["host"] for each in found["refused_agents"]] == [HOSTILE, "node-9"]
    assert found["refused_agents"][1]["count"] == 3


async def test_more_refused_agents_than_fit_are_mentioned() -> None:
    """Five are shown; a hint names the command that lists the others."""
    parts = make_parts()
    refused = RefusedAgents(clock=lambda: parts.clock() / 1e9)
    for number in range(6):
        refused.record(host=f"node-{number}", certificate="", address="", reason="no certificate")
    async with serving(replace(parts, refused_agents=refused.recent)) as url:
        lines = (await run("hosts", "--collector", url)).output.splitlines()
    assert [line.split()[0] for line in lines[-6:-1]] == ["node-5", "node-4", "node-3", "node-2", "node-1"]
    assert lines[-1] == "There are more: flyball hosts --format json"


async def test_a_host_is_shown_in_sections() -> None:
    """An overview or every reading, with units; unavailable readings have a reason, and unknown values are marked."""
    async with serving(fleet()) as url:
        shown = await run("host", "node-a", "--collector", url)
        every = await run("host", "node-a", "--collector", url, "--all")
        unknown = await run("host", "node-b", "--collector", url, "--only", "gpu_temperature")
        document = json.loads((await run("host", "node-a", "--collector", url, "--format", "json")).output)
    assert "of 512 GiB" in shown.output
    assert "cpu_busy_ratio" not in shown.output
    assert "cpu_busy_ratio" in every.output
    assert "2 × NVIDIA H100" in shown.output
    assert "Unavailable readings" in shown.output
    assert "no permission" in shown.output
    assert "Unavailable readings" in every.output
    assert "no permission" in every.output
    assert "GPU 0000-00 " in every.output
    assert "CAP_DAC_READ_SEARCH" in shown.output
    assert "unavailable" in unknown.output
    assert "cpu_busy_ratio" not in unknown.output
    assert document["host"]["name"] == "node-a"


async def test_a_host_is_removed_after_confirmation() -> None:
    """The answer no changes nothing; --yes does not ask; an unknown host is a wrong argument."""
    parts = fleet()
    async with serving(parts) as url:
        refused = await run("host", "remove", "node-a", "--collector", url, keys="n\n")
        assert "node-a was not removed" in str(refused.exception)
        ended = await run("host", "remove", "node-a", "--collector", url)  # nobody answers
        assert "in a script, add --yes" in str(ended.exception)
        missing = await run("host", "remove", "--collector", url)
        assert "missing argument NAME" in str(missing.exception)
        typo = await run("host", "node-a", "--collector", url, "--only", "gpu_tempreture")
        assert "--only gpu_tempreture: no metric of node-a begins with this; did you mean" in str(typo.exception)
        assert parts.fleet.get("node-a") is not None
        removed = await run("host", "remove", "node-a", "--collector", url, "--yes")
        assert "Removed node-a" in removed.output
        assert parts.fleet.get("node-a") is None
        again = await run("host", "remove", "node-a", "--collector", url, "--yes")
        assert "node-b" in str(again.exception)
        assert isinstance(again.exception, WrongArgument)
        document = json.loads((await run("host", "remove", "node-b", "--collector", url, "--yes", "-f", "json")).output)
    assert document["blocks"] == 0


async def test_a_token_comes_from_a_file(tmp_path: Path) -> None:
    """Without it the message names the option; with it the hosts are listed."""
    token, line = new_token(Role.VIEWER, "ada")
    (tmp_path / "tokens").write_text(line)
    (tmp_path / "mine").write_text(f"{token}\n")
    async with serving(replace(fleet(), tokens=TokensFile(tmp_path / "tokens"))) as url:
        assert "needs a token: name its file with --token-file" in str(
            (await run("hosts", "--collector", url)).exception
        )
        (tmp_path / "other").write_text("other\n")
        refused = await run("hosts", "--collector", url, "--token-file", str(tmp_path / "other"))
        assert "does not accept this token. Check --token-file" in str(refused.exception)
        (tmp_path / "empty").touch()
        empty = await run("hosts", "--collector", url, "--token-file", str(tmp_path / "empty"))
        assert f"--token-file {tmp_path / 'empty'} is empty" in str(empty.exception)
        shown = await run("hosts", "--collector", url, "--token-file", str(tmp_path / "mine"))
        assert shown.exit_code == 0


@pytest.mark.parametrize("content", [b"two words", b"\xff\xfe", b"a\x00b"])
async def test_a_file_without_a_token_is_a_wrong_argument(content: bytes, tmp_path: Path) -> None:
    """It is rejected before a request is sent."""
    file = tmp_path / "token"
    file.write_bytes(content)
    result = await run("hosts", "--token-file", str(file))
    assert isinstance(result.exception, WrongArgument)
    assert str(file) in str(result.exception)


def test_a_collector_that_does_not_answer_is_an_error_with_remedies() -> None:
    """The message has the address, the reason and what to do. A wrong address is rejected before anything is sent."""
    with pytest.raises(CommandError, match=r"http://127\.0\.0\.1:1 \(Connection refused\).*flyball up") as refused:
        Api("http://127.0.0.1:1").get("overview")
    assert refused.value.status == 1
    for url in ("file:///etc/passwd", "localhost:3591", "ftp://x", "http://", "http://a:b"):
        with pytest.raises(WrongArgument, match="expected a URL"):
            Api(url)


async def test_http_to_a_tls_port_and_https_to_a_plain_port_name_the_right_address(tmp_path: Path) -> None:
    """The collector's own hint is shown for http://; for https:// the failed handshake is explained."""
    key, certificate = str(tmp_path / "key.pem"), str(tmp_path / "certificate.pem")
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    subprocess.run([*command, *subject, "-keyout", key, "-out", certificate], check=True, capture_output=True)  # noqa: ASYNC221
    context = tls_context(HttpSettings(certificate_file=certificate, key_file=key))

    async def close(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    async with await asyncio.start_server(close, "127.0.0.1", 0, ssl=context) as server:
        port = server.sockets[0].getsockname()[1]
        for call in (Api(f"http://localhost:{port}").get, Api(f"http://localhost:{port}").delete):
            with pytest.raises(WrongArgument, match=rf"^this port speaks TLS\. Use https://localhost:{port}$"):
                await asyncio.to_thread(call, "overview")
        with pytest.raises(CommandError, match=r"not trusted.*--ca-file"):
            await asyncio.to_thread(Api(f"https://localhost:{port}").get, "overview")
    async with serving(fleet()) as url:
        secure = url.replace("http:", "https:")
        with pytest.raises(WrongArgument, match=rf"^this port does not speak TLS\. Use {url}$"):
            await asyncio.to_thread(Api(secure).get, "overview")


async def test_another_server_is_recognised() -> None:
    """An answer that is not JSON is an error, and a redirect is not followed with the token."""

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
        (0.012, "seconds", "12.0 ms"), (110.0, "seconds", "1 min 50 s"), (-110.0, "seconds", "-1 min 50 s"),
        (-0.0042, "seconds", "-4.2 ms"), (3.0, "lanes", "3"), (1.0, "flag", "yes"),
    ],
)  # fmt: skip
def test_values_have_units(value: float | None, unit: str, expected: str) -> None:
    """An unknown value is a dash, and zero is zero."""
    assert amount(value, unit) == expected


def test_durations_have_at_most_two_units() -> None:
    """Whole seconds, the largest unit first."""
    seconds = (0.2, 3, 59.6, 110, 7300, 200_000)
    assert [duration(each) for each in seconds] == ["0 s", "3 s", "1 min", "1 min 50 s", "2 h 2 min", "2 days 8 h"]


def test_times_have_date_and_zone() -> None:
    """The API sends UTC."""
    assert utc_time("2026-11-26T14:03:11.250Z") == "2026-11-26 14:03:11 UTC"
