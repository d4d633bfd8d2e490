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
from flyball.command.errors import CommandError
from flyball_collector.diagnosis.subject import Subject
from flyball_collector.http.parts import Parts
from flyball_collector.http.testing import Clock, make_parts, serving
from flyball_collector.notify.silences import Silence
from flyball_collector.testing import FlakyStore
from flyball_collector.timeline.testing import NOW_NS, SECOND_NS, cleared, make_event

HOSTILE = "[red]x[/red]\x1b[31m"


def fleet(count: int = 0) -> Parts:
    """A memory alarm that is over, a straggler whose words are hostile, and more of the like; a minute later."""
    parts = make_parts(clock=Clock(NOW_NS + 60 * SECOND_NS))
    memory = make_event(host="a", seconds_left=600.0)
    slow = make_event("straggler", at=2, subject=Subject(HOSTILE, run="r", rank=3), because=HOSTILE)
    parts.timeline.take([memory, slow, cleared(memory, after=30)])
    parts.timeline.take([make_event("disk_full", f"n{number}", at=-number - 1) for number in range(count)])
    return parts


async def run(*words: str, columns: str = "200") -> Result:
    """Run a command without blocking the event loop, on which the collector answers."""
    app = typer.Typer()
    app.command()(events.events)
    app.add_typer(silence.build(), name="silence")
    return await asyncio.to_thread(CliRunner().invoke, app, list(words), env={"COLUMNS": columns})


async def test_events_are_a_table_newest_last() -> None:
    """Time, state, severity, kind, whom it is about, what is left; what hosts say steers neither terminal nor table."""
    async with serving(fleet()) as url:
        result = await run("events", "--collector", url)
    lines = result.output.splitlines()
    assert result.exit_code == 0, result.output
    assert [line.split()[2] for line in lines[1:]] == ["raised", "raised", "cleared"]
    assert "10 min" in lines[1]
    assert "[red]x[/red]" in lines[2]
    assert "\x1b[31m" not in result.output


async def test_a_narrow_terminal_gets_some_lines_an_event() -> None:
    """Nothing is squeezed into columns of a letter: the reason stands below, in whole words."""
    async with serving(fleet()) as url:
        shown = (await run("events", "--collector", url, columns="80")).output
    assert "memory_exhaustion  a GPU 1  10 min left  80% sure" in shown
    assert "used 93 %, 12 MiB more each second" in shown
    assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.parametrize(
    ("times", "words"),
    [
        ((0.0, 0.0, 0.0), "  now  80% sure"), ((0.0, 0.0, 90.0), "  now  80% sure"),
        ((33.2, 33.0, 33.4), "  33 s left  80% sure"),
        ((300.0, 240.0, 301.0), "  5 min (4 min … 5 min) left  80% sure"),
    ],
)  # fmt: skip
async def test_time_is_told_as_far_as_there_is_any(times: tuple[float, float, float], words: str) -> None:
    """What goes on already is now, not in 0 s; bounds that read alike are none."""
    parts = make_parts(clock=Clock(NOW_NS + 60 * SECOND_NS))
    left, low, high = times
    event = make_event("thermal_slowdown", "a", seconds_left=left)
    parts.timeline.take([replace(event, seconds_left_low=low, seconds_left_high=high)])
    async with serving(parts) as url:
        shown = (await run("events", "--collector", url, columns="120")).output
        row = (await run("events", "--collector", url)).output.splitlines()[1]
    assert f"thermal_slowdown  a GPU 1{words}" in shown
    assert ("now" in row) == (times[0] == 0)


async def test_a_port_of_another_kind_is_named() -> None:
    """What does not speak HTTP is quoted nowhere: its bytes say nothing to people."""

    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"\x00\x00\x18\x04\x00\x00")
        writer.close()

    async with await asyncio.start_server(greet, "127.0.0.1") as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        said = str((await run("events", "--collector", url)).exception)
    assert said == f"what answers at {url} does not speak HTTP; if that is the agents' port, see --collector"


async def test_programs_get_json() -> None:
    """One array, or an object a line; in the public form, oldest first."""
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
        told = json.loads((await run("events", "--collector", url, "--format", "json", *words)).output)
    assert {event["kind"] for event in told} == kinds


async def test_many_events_come_in_pages() -> None:
    """The newest so many, over as many pages as it takes."""
    async with serving(fleet(1500)) as url:
        told = json.loads((await run("events", "--collector", url, "--format", "json", "-n", "1203")).output)
    assert len({event["id"] for event in told}) == 1203
    assert [event["time"] for event in told] == sorted(event["time"] for event in told)


async def test_what_is_missing_or_wrong_is_said() -> None:
    """No event; a kind that does not exist and the one that was meant; a store that does not answer."""
    async with serving(make_parts()) as url:
        assert "cleared in the last 2h." in (await run("events", "--collector", url, "--since", "2h")).output
        wrong = await run("events", "--collector", url, "--kind", "stragler")
        assert "did you mean straggler" in str(wrong.exception)
        nobody = await run("events", "--collector", url, "--host", "nobody")
        assert "no host is called 'nobody'; `flyball hosts` lists them" in str(nobody.exception)
        state = await run("events", "--collector", url, "--state", "risen", columns="80")
        assert "'raised'" in state.stderr
        soon = await run("events", "--collector", url, "--since", "soon")
        assert isinstance(soon.exception, CommandError)
    store = FlakyStore()
    async with serving(make_parts(store)) as url:
        store.down = True
        assert "store does not answer" in (await run("events", "--collector", url)).stderr


async def test_following_goes_on() -> None:
    """What is raised later is written when it comes, each once; Ctrl-C ends it."""
    parts = fleet()
    async with serving(parts) as url:
        words = ["events", "--collector", url, "--follow", "--format", "jsonl", "--since", "1h"]
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "flyball", *words, stdout=asyncio.subprocess.PIPE, env={**os.environ}
        )
        assert child.stdout is not None
        told: list[dict[str, Any]] = []

        async def hear(count: int) -> None:
            async with asyncio.timeout(30):
                while len(told) < count:
                    told.append(json.loads(await child.stdout.readline()))  # type: ignore[union-attr]  # it is there

        await hear(3)
        for second in range(3):
            parts.timeline.take([make_event("host_lost", f"late-{second}", at=40 + second)])
            await hear(4 + second)
        child.send_signal(signal.SIGINT)
        await asyncio.wait_for(child.wait(), 10)
    assert len({event["id"] for event in told}) == 6
    assert [event["host"] for event in told[3:]] == ["late-0", "late-1", "late-2"]


async def test_a_silence_is_added_listed_and_ended() -> None:
    """By matchers and for a time; days are understood; its end is told how."""
    parts = make_parts()
    async with serving(parts) as url:
        made = await run(
            "silence", "add", "host=n*", "kind=straggler", "--for", "2d", "--comment", "x", "--collector", url
        )
        assert made.exit_code == 0, made.exception
        (known,) = parts.silences.active(parts.clock())
        assert known.matchers == {"host": "n*", "kind": "straggler"}
        assert known.until_ns - known.created_ns == 2 * 86400 * 10**9
        assert f"flyball silence end {known.id}" in made.output
        assert "host=n* kind=straggler" in (await run("silence", "list", "--collector", url)).output
        assert "has ended" in (await run("silence", "end", known.id, "--collector", url)).output
        assert "Nothing is silenced" in (await run("silence", "list", "--collector", url)).output
        assert json.loads((await run("silence", "list", "--format", "json", "--collector", url)).output) == []


async def test_what_others_wrote_into_a_silence_is_text() -> None:
    """A comment steers no terminal."""
    parts = make_parts()
    parts.silences.add(
        Silence(id="x", matchers={"host": HOSTILE}, created_ns=0, until_ns=2**62, by=HOSTILE, comment=HOSTILE)
    )
    async with serving(parts) as url:
        assert "\x1b[31m" not in (await run("silence", "list", "--collector", url)).output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["host"], "NAME=PATTERN"), (["=a"], "NAME=PATTERN"), (["colour=red"], "one of kind"),
        (["host=*"], "silence everything"), (["host=a", "--for", "long"], "duration"),
        (["kind=stragler"], "did you mean straggler"),
    ],
)  # fmt: skip
async def test_a_senseless_silence_is_refused(words: list[str], said: str) -> None:
    """What is wrong, and what is expected."""
    parts = make_parts()
    async with serving(parts) as url:
        assert said in str((await run("silence", "add", *words, "--collector", url)).exception)
        nobody = await run("silence", "end", "nobody", "--collector", url)
    assert "no silence in force" in str(nobody.exception)
    assert parts.silences.active(0) == []


async def test_a_token_file_is_taken(tmp_path: Path) -> None:
    """Each command takes the options that reach a collector."""
    result = await run("silence", "list", "--token-file", str(tmp_path / "none"))
    assert "token-file" in str(result.exception)
