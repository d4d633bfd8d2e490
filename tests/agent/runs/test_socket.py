"""Training processes report on the socket; rubbish, floods and strangers disturb nobody."""

import asyncio
import itertools
import json
import os
import socket
import stat
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball_agent.errors import SocketRefused
from flyball_agent.runs.book import OWNED_SECONDS, Peer, RunBook, RunRefused
from flyball_agent.runs.messages import BadLine, Envelope, Goodbye, Hello, Steps, decode, merge, step_report
from flyball_agent.runs.socket import BURST_LINES, MAX_CONNECTIONS, MAX_LINE_BYTES, RunSocket
from flyball_agent.self_metrics import SelfMetrics
from flyball_agent.testing import until_true

HELLO = {"kind": "hello", "run": "a-run", "rank": 1, "world_size": 4}
STEPS = {"kind": "steps", "step": 10, "steps": 2, "step_seconds": 0.5, "tokens": 4096, "loss": 2.5}


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[RunSocket]:
    """A socket that listens."""
    server = RunSocket(tmp_path / "run" / "agent.sock", RunBook(), SelfMetrics())
    await server.start()
    yield server
    await server.stop()


class Process:
    """A training process's end."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    @classmethod
    async def connect(cls, server: RunSocket) -> "Process":
        return cls(*await asyncio.open_unix_connection(str(server.path)))

    async def say(self, message: object) -> dict[str, str]:
        return await self.send(json.dumps(message).encode() + b"\n")

    async def send(self, line: bytes) -> dict[str, str]:
        self.writer.write(line)
        return await self.answer()

    async def answer(self) -> dict[str, str]:
        async with asyncio.timeout(5):
            answer: dict[str, str] = json.loads(await self.reader.readline() or b"{}")
        return answer

    async def is_closed(self) -> bool:
        async with asyncio.timeout(5):
            ended = await self.reader.read() == b""
        self.writer.close()
        return ended

    async def close(self) -> None:
        self.writer.close()


async def test_step_reports_reach_the_tick(server: RunSocket) -> None:
    """A report carries what the process said and what the kernel says of it."""
    process = await Process.connect(server)
    assert await process.say(HELLO) == {"kind": "ok"}
    assert await process.say(STEPS) == {"kind": "ok"}
    assert await process.say({**STEPS, "step": 13, "steps": 3, "loss": "nan"}) == {"kind": "ok"}
    (report,) = server.book.take_reports()
    assert (report.run, report.rank, report.world_size) == ("a-run", 1, 4)
    assert (report.pid, report.uid) == (os.getpid(), os.getuid())
    assert (report.step, report.steps, report.step_seconds, report.tokens) == (13, 5, 1.0, 8192)
    assert report.loss != report.loss
    assert server.book.take_reports() == []
    assert server.book.clients()[os.getpid()].rank == 1
    await process.close()
    await until_true(lambda: not server.book.clients())


async def test_anybody_may_connect(server: RunSocket) -> None:
    """The file's mode lets every user report."""
    assert stat.S_IMODE(server.path.stat().st_mode) == 0o666


async def test_unknown_kinds_are_ignored_with_a_reply(server: RunSocket) -> None:
    """A newer client goes on working."""
    process = await Process.connect(server)
    assert await process.say({"kind": "offers_please"}) == {"kind": "ignored", "ignored": "offers_please"}
    assert await process.say(HELLO) == {"kind": "ok"}
    await process.close()


@pytest.mark.parametrize("line", [b"hello?\n", b"[]\n", b"\xff\xfe\n", b'{"kind":1}\n', b'{"a":' * 5000 + b"\n"])
async def test_rubbish_is_answered_and_hung_up_on(server: RunSocket, line: bytes) -> None:
    """Who does not speak the protocol is told so, counted, and leaves."""
    process = await Process.connect(server)
    assert (await process.send(line))["kind"] == "error"
    assert await process.is_closed()
    assert server.self_metrics.client_errors == 1


async def test_a_wrong_field_does_not_end_the_connection(server: RunSocket) -> None:
    """A client's small mistake is named; its next line counts."""
    process = await Process.connect(server)
    await process.say(HELLO)
    answer = await process.say({**STEPS, "steps": -1})
    assert answer["kind"] == "error"
    assert "steps" in answer["error"]
    assert await process.say(STEPS) == {"kind": "ok"}
    await process.close()


async def test_steps_need_a_hello(server: RunSocket) -> None:
    """Steps of nobody are refused."""
    process = await Process.connect(server)
    assert "hello" in (await process.say(STEPS))["error"]
    await process.close()


@pytest.mark.parametrize("end", [b"", b"\n"])
async def test_endless_lines_are_cut_off(server: RunSocket, end: bytes) -> None:
    """A line has a greatest length, whether it ends or not."""
    process = await Process.connect(server)
    assert (await process.send(b"x" * (MAX_LINE_BYTES + 10) + end))["kind"] == "error"
    await process.close()


async def test_a_flood_is_dropped_not_served(server: RunSocket) -> None:
    """Beyond the rate lines are dropped, the first with a word; others are served meanwhile."""
    flooding, calm = await Process.connect(server), await Process.connect(server)
    await flooding.say(HELLO)
    line = json.dumps(STEPS).encode() + b"\n"
    flooding.writer.write(line * 3000)
    assert await calm.say(HELLO) == {"kind": "ok"}
    answers = [(await flooding.answer())["kind"] for _ in range(round(BURST_LINES))]
    assert "error" in answers
    assert sum(report.steps for report in server.book.take_reports()) < 1000
    await flooding.close()
    await calm.close()


async def test_a_slow_reader_loses_its_connection(server: RunSocket) -> None:
    """Unread answers are bounded, and nobody waits for them."""
    process = await Process.connect(server)
    server.now = itertools.count().__next__  # time flies: the rate is no limit here
    line = b'{"kind":"' + b"k" * 50 + b'"}\n'

    async def speak_without_listening() -> None:
        for _ in range(100_000):
            process.writer.write(line * 50)
            await asyncio.sleep(0)
            await process.writer.drain()

    with pytest.raises(ConnectionError):
        await speak_without_listening()


async def test_connections_are_limited(server: RunSocket) -> None:
    """One too many is told so; the others stay."""
    processes = [await Process.connect(server) for _ in range(MAX_CONNECTIONS)]
    await until_true(lambda: server.self_metrics.clients == MAX_CONNECTIONS)
    late = await Process.connect(server)
    assert "processes are connected" in (await late.answer())["error"]
    assert await late.is_closed()
    assert await processes[0].say(HELLO) == {"kind": "ok"}
    for process in processes:
        await process.close()


def test_a_run_belongs_to_its_user() -> None:
    """Another user is refused while the run is open and for a while after; then the name is free."""
    book = RunBook()
    hello = Hello("theirs")
    book.open(Peer(1, 1000), hello, 0.0)
    with pytest.raises(RunRefused):
        book.open(Peer(2, 1001), hello, 1.0)
    book.leave(Peer(1, 1000), hello, 2.0)
    with pytest.raises(RunRefused):
        book.open(Peer(2, 1001), hello, OWNED_SECONDS)
    book.open(Peer(2, 1001), hello, 3 + OWNED_SECONDS)


async def test_a_stale_socket_is_replaced(tmp_path: Path) -> None:
    """What a killed agent left is no obstacle; a living agent is."""
    path = tmp_path / "agent.sock"
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    first = RunSocket(path, RunBook(), SelfMetrics())
    await first.start()
    with pytest.raises(SocketRefused, match="another agent"):
        await RunSocket(path, RunBook(), SelfMetrics()).start()
    await first.stop()
    assert not path.exists()


async def test_a_file_in_the_way_is_not_removed(tmp_path: Path) -> None:
    """The agent deletes sockets, never somebody's file."""
    path = tmp_path / "agent.sock"
    path.write_text("precious")
    with pytest.raises(SocketRefused, match="no socket"):
        await RunSocket(path, RunBook(), SelfMetrics()).start()
    assert path.read_text() == "precious"


@given(st.binary(max_size=300))
def test_any_line_is_a_message_or_a_bad_line(line: bytes) -> None:
    """No input makes the decoder do anything else."""
    try:
        message = decode(line)
    except BadLine:
        return
    assert isinstance(message, Hello | Steps | Goodbye | Envelope)


amounts = st.floats(0, 1e9)
reports = st.builds(Steps, step=st.integers(0, 100), steps=st.integers(0, 100), step_seconds=amounts, tokens=amounts)


@given(st.lists(reports, min_size=1, max_size=6))
def test_merging_conserves_the_sums(parts: list[Steps]) -> None:
    """However many lines a tick has, nothing that was reported is lost."""
    hello = Hello("run")
    merged = step_report(hello, parts[0], pid=1, uid=1)
    for part in parts[1:]:
        merge(merged, step_report(hello, part, pid=1, uid=1))
    assert merged.steps == sum(part.steps for part in parts)
    assert merged.step_seconds == pytest.approx(sum(part.step_seconds for part in parts))
    assert merged.tokens == pytest.approx(sum(part.tokens or 0 for part in parts))
    assert merged.step == parts[-1].step
