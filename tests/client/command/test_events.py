"""`flyball events`, `flyball silence` against a real collector's HTTP side."""

import asyncio
import json
import os
import signal
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from flyball.command import events, silence
from flyball.command.errors import WrongArgument
from flyball_collector.diagnosis.subject import Subject
from flyball_collector.http.collector_parts import CollectorParts
from flyball_collector.http.testing import WallClock, make_parts, serving
from flyball_collector.notify.silences import Silence
from flyball_collector.testing import FlakyStore
from flyball_collector.timeline.testing import NOW_NS, SECOND_NS, cleared, make_event
from tests.client.terminal import terminal

HOSTILE = "[red]x[/red]\x1b[31m"


def fleet(count: int = 0) -> CollectorParts:
    """Return a cleared memory problem, a straggler with hostile text, and more events; a minute later."""
    parts = make_parts(clock=WallClock(NOW_NS + 60 * SECOND_NS))
    memory = make_event(host="a", seconds_left=600.0)
    slow = make_event("straggler", at=2, subject=Subject(HOSTILE, run="r", rank=3), because=HOSTILE)
    parts.timeline.add_events([memory, slow, cleared(memory, after=30)])
    parts.timeline.add_events([make_event("disk_full", f"n{number}", at=-number - 1) for number in range(count)])
    return parts


async def run(*words: str, columns: int = 0) -> Result:
    """Run a command in a thread, because the collector answers on the event loop; in a pipe or a terminal."""
    app = typer.Typer()
    app.command()(events.events)
    app.add_typer(silence.build(), name="silence")
    return await asyncio.to_thread(CliRunner().invoke, app, list(words), env=terminal(columns) if columns else {})


async def test_events_are_a_table_with_the_newest_last() -> None:
    """Time, state, severity, kind, subject and time left; text of hosts controls neither the terminal nor the table."""
    async with serving(fleet()) as url:
        result = await run("events", "--collector", url)
    lines = result.output.splitlines()
    assert result.exit_code == 0, result.output
    assert [line.split()[3] for line in lines[1:]] == ["raised", "raised", "cleared"]
    assert lines[1].startswith("2030-03-17 17:46:40 UTC  raised")
    assert "10 min" in lines[1]
    assert "[red]x[/red]" in lines[2]
    assert "\x1b[31m" not in result.output


async def test_a_narrow_terminal_shows_several_lines_an_event() -> None:
    """The reason is below the kind, in whole words."""
    async with serving(fleet()) as url:
        shown = (await run("events", "--collector", url, columns=80)).output
    assert "memory_exhaustion  a GPU 1  10 min left  80 % confidence" in shown
    assert "used 93 %, 12 MiB more each second" in shown
    assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.parametrize(
    ("times", "words"),
    [
        ((0.0, 0.0, 0.0), "  now  80 % confidence"), ((0.0, 0.0, 90.0), "  now  80 % confidence"),
        ((33.2, 33.0, 33.4), "  33 s left  80 % confidence"),
        ((300.0, 240.0, 301.0), "  5 min (4 min … 5 min 1 s) left  80 % confidence"),
    ],
)  # fmt: skip
async def test_the_time_left_is_shown(times: tuple[float, float, float], words: str) -> None:
    """A condition that has begun is "now", not "0 s"; an interval with equal ends is left out."""
    parts = make_parts(clock=WallClock(NOW_NS + 60 * SECOND_NS))
    left, low, high = times
    event = make_event("thermal_slowdown", "a", seconds_left=left)
    parts.timeline.add_events([replace(event, seconds_left_low=low, seconds_left_high=high)])
    async with serving(parts) as url:
        shown = (await run("events", "--collector", url, columns=120)).output
        row = (await run("events", "--collector", url)).output.splitlines()[1]
    assert f"thermal_slowdown  a GPU 1{words}" in shown
    assert ("now" in row) == (times[0] == 0)


async def test_a_port_for_agents_is_an_error() -> None:
    """Its bytes are not printed."""

    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"\x00\x00\x18\x04\x00\x00")
        writer.close()

    async with await asyncio.start_server(greet, "127.0.0.1") as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        message = str((await run("events", "--collector", url)).exception)
    assert message == f"{url} does not speak HTTP. If this is the port for agents, use the web port (3591)"


async def test_json_is_one_array_or_one_object_a_line() -> None:
    """In the form of the API, oldest first."""
    async with serving(fleet()) as url:
        array = json.loads((await run("events", "--collector", url, "--format", "json")).output)
        lines = (await run("events", "--collector", url, "--format", "jsonl", "--state", "raised")).output.splitlines()
    assert [event["state"] for event in array] == ["raised", "raised", "cleared"]
    assert [json.loads(line)["kind"] for line in lines] == ["memory_exhaustion", "straggler"]


@pytest.mark.parametrize(
    ("words", "kinds"),
    [
        (["--host", "a"], {"memory_exhaustion"}), (["--run", "r"], {"straggler"}),
        (["--since", "58.5s"], {"straggler", "memory_exhaustion"}),
        (["--severity", "critical"], {"memory_exhaustion"}), (["--kind", "straggler"], {"straggler"}),
        (["--since", "2030-03-17T17:46:42Z", "--until", "2030-03-17T17:46:43Z"], {"straggler"}),
    ],
)  # fmt: skip
async def test_events_are_filtered(words: list[str], kinds: set[str]) -> None:
    """By host, run, kind, severity and time, relative or absolute."""
    async with serving(fleet()) as url:
        found = json.loads((await run("events", "--collector", url, "--format", "json", *words)).output)
    assert {event["kind"] for event in found} == kinds


async def test_many_events_come_in_pages() -> None:
    """Pages are fetched until the limit is reached."""
    async with serving(fleet(1500)) as url:
        found = json.loads((await run("events", "--collector", url, "--format", "json", "-n", "1203")).output)
    assert len({event["id"] for event in found}) == 1203
    assert [event["time"] for event in found] == sorted(event["time"] for event in found)


async def test_wrong_arguments_and_failures_are_reported() -> None:
    """No events; an unknown kind, host, state and time; a store that does not answer."""
    async with serving(make_parts()) as url:
        assert "No events in the last 2 h." in (await run("events", "--collector", url, "--since", "2h")).output
        wrong = await run("events", "--collector", url, "--kind", "stragler")
        assert "did you mean 'straggler'" in str(wrong.exception)
        nobody = await run("events", "--collector", url, "--host", "nobody")
        assert "'nobody'; `flyball hosts` lists them" in str(nobody.exception)
        state = await run("events", "--collector", url, "--state", "risen", columns=80)
        assert "raised" in state.stderr
        soon = await run("events", "--collector", url, "--since", "soon")
        assert isinstance(soon.exception, WrongArgument)
        assert "--since soon: expected an age such as 30m, 12h or 7d, or a time such as" in str(soon.exception)
        local = await run("events", "--collector", url, "--since", "2030-01-31T12:00:00")
        assert "the time needs a zone, such as Z for UTC" in str(local.exception)
        turned = await run("events", "--collector", url, "--since", "1h", "--until", "2h")
        assert str(turned.exception) == "--since 1h is not before --until 2h"
        past = await run("events", "--collector", url, "--since", "2h", "--until", "1h")
        assert "No events between 2 h ago and 1 h ago." in past.output
        typo = await run("events", "--collector", url, "--run", "nothing")
        assert "no run named 'nothing'" in str(typo.exception)
    store = FlakyStore()
    async with serving(make_parts(store)) as url:
        store.down = True
        assert "store does not answer" in (await run("events", "--collector", url)).stderr


async def test_follow_writes_new_events() -> None:
    """Each event is written once, when it is raised; Ctrl-C ends the command."""
    parts = fleet()
    async with serving(parts) as url:
        words = ["events", "--collector", url, "--follow", "--format", "jsonl", "--since", "1h"]
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "flyball", *words, stdout=asyncio.subprocess.PIPE, env={**os.environ}
        )
        assert child.stdout is not None
        received: list[dict[str, Any]] = []

        async def receive(count: int) -> None:
            async with asyncio.timeout(30):
                while len(received) < count:
                    received.append(json.loads(await child.stdout.readline()))  # type: ignore[union-attr]  # set above

        await receive(3)
        for second in range(3):
            parts.timeline.add_events([make_event("host_lost", f"late-{second}", at=40 + second)])
            await receive(4 + second)
        child.send_signal(signal.SIGINT)
        await asyncio.wait_for(child.wait(), 60)
    assert len({event["id"] for event in received}) == 6
    assert [event["host"] for event in received[3:]] == ["late-0", "late-1", "late-2"]


async def test_a_silence_is_added_listed_and_ended() -> None:
    """With matchers and a duration in days; the output names the command that ends it."""
    parts = make_parts()
    async with serving(parts) as url:
        made = await run(
            "silence", "add", "host=n*", "kind=straggler", "--for", "2d", "--comment", "x", "--collector", url
        )
        assert made.exit_code == 0, made.exception
        (known,) = parts.notifier.silences.active(parts.clock())
        assert known.matchers == {"host": "n*", "kind": "straggler"}
        assert known.until_ns - known.created_ns == 2 * 86400 * 10**9
        assert f"flyball silence end {known.id}" in made.output
        assert "host=n* kind=straggler" in (await run("silence", "list", "--collector", url)).output
        assert "has ended" in (await run("silence", "end", known.id, "--collector", url)).output
        assert "No notifications are muted" in (await run("silence", "list", "--collector", url)).output
        assert json.loads((await run("silence", "list", "--format", "json", "--collector", url)).output) == []


async def test_text_of_a_silence_cannot_control_the_terminal() -> None:
    """Comments, names and patterns are printed as text."""
    parts = make_parts()
    parts.notifier.silences.add(
        Silence(id="x", matchers={"host": HOSTILE}, created_ns=0, until_ns=2**62, by=HOSTILE, comment=HOSTILE)
    )
    async with serving(parts) as url:
        assert "\x1b[31m" not in (await run("silence", "list", "--collector", url)).output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["host"], "NAME=PATTERN"), (["=a"], "NAME=PATTERN"), (["colour=red"], "one of kind"),
        (["host=*"], "silence everything"), (["host=a", "--for", "long"], "duration"),
        (["kind=stragler"], "did you mean 'straggler'"),
    ],
)  # fmt: skip
async def test_a_wrong_silence_is_rejected(words: list[str], message: str) -> None:
    """The message has what is wrong and what is expected."""
    parts = make_parts()
    async with serving(parts) as url:
        assert message in str((await run("silence", "add", *words, "--collector", url)).exception)
        nobody = await run("silence", "end", "nobody", "--collector", url)
    assert "no silence with the id 'nobody'" in str(nobody.exception)
    assert parts.notifier.silences.active(0) == []


async def test_a_missing_token_file_is_a_wrong_argument(tmp_path: Path) -> None:
    """All commands of the API have the same options."""
    result = await run("silence", "list", "--token-file", str(tmp_path / "none"))
    assert "token-file" in str(result.exception)
