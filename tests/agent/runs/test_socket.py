"""Tests of the socket for training processes, with invalid lines, floods and other users."""

import asyncio
import itertools
import json
import os
import socket
import stat
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flyball_agent.errors import SocketRefused
from flyball_agent.runs.adjustment_messages import ADJUSTMENT_KINDS, AdjustmentMessage
from flyball_agent.runs.messages import BadLine, Envelope, Goodbye, Hello, StepsMessage, decode
from flyball_agent.runs.registry import OWNED_SECONDS, RunRefused, RunRegistry, SocketPeer
from flyball_agent.runs.socket import BURST_LINES, MAX_CONNECTIONS, MAX_DROPPED_LINES, MAX_LINE_BYTES, RunSocket
from flyball_agent.runs.step_reports import merge, step_report
from flyball_agent.self_metrics import SelfMetrics
from flyball_agent.testing import until_true

HELLO = {"kind": "hello", "run": "a-run", "rank": 1, "world_size": 4}
STEPS = {"kind": "steps", "step": 10, "steps": 2, "step_seconds": 0.5, "tokens": 4096, "loss": 2.5}


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[RunSocket]:
    """Yield a socket that listens."""
    server = RunSocket(tmp_path / "run" / "agent.sock", RunRegistry(), SelfMetrics())
    await server.start()
    yield server
    await server.stop()


class Process:
    """The connection of a training process."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    @classmethod
    async def connect(cls, server: RunSocket) -> "Process":
        return cls(*await asyncio.open_unix_connection(str(server.path)))

    async def request(self, message: object) -> dict[str, str]:
        return await self.send(json.dumps(message).encode() + b"\n")

    async def send(self, line: bytes) -> dict[str, str]:
        self.writer.write(line)
        return await self.answer()

    async def answer(self) -> dict[str, str]:
        async with asyncio.timeout(60):
            answer: dict[str, str] = json.loads(await self.reader.readline() or b"{}")
        return answer

    async def is_closed(self) -> bool:
        async with asyncio.timeout(60):
            ended = await self.reader.read() == b""
        self.writer.close()
        return ended

    async def close(self) -> None:
        self.writer.close()


async def test_step_reports_reach_the_tick(server: RunSocket) -> None:
    """A report has the fields of the process, and its process id and user id from the kernel."""
    process = await Process.connect(server)
    assert await process.request(HELLO) == {"kind": "ok"}
    assert await process.request(STEPS) == {"kind": "ok"}
    assert await process.request({**STEPS, "step": 13, "steps": 3, "loss": "nan"}) == {"kind": "ok"}
    (report,) = server.registry.take_reports()
    assert (report.run, report.rank, report.world_size) == ("a-run", 1, 4)
    assert (report.pid, report.uid) == (os.getpid(), os.getuid())
    assert (report.step, report.steps, report.step_seconds, report.tokens) == (13, 5, 1.0, 8192)
    assert report.loss != report.loss
    assert server.registry.take_reports() == []
    assert server.registry.clients()[os.getpid()].rank == 1
    await process.close()
    await until_true(lambda: not server.registry.clients())


async def test_a_run_that_has_left_before_it_is_read_counts(server: RunSocket) -> None:
    """A short training may end before the agent reads: nothing that it sent is lost."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as short:
        short.connect(str(server.path))
        lines = [HELLO, STEPS, {**STEPS, "step": 12}, {"kind": "goodbye"}]
        short.sendall(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
    reports: list[int] = []

    def reported() -> bool:
        reports.extend(each.steps for each in server.registry.take_reports())
        return bool(reports)

    await until_true(reported)
    assert reports == [4]


async def test_anybody_may_connect(server: RunSocket) -> None:
    """The mode of the socket file permits every user to report."""
    assert stat.S_IMODE(server.path.stat().st_mode) == 0o666


async def test_unknown_kinds_are_ignored_with_a_reply(server: RunSocket) -> None:
    """A newer client keeps working."""
    process = await Process.connect(server)
    assert await process.request({"kind": "offers_please"}) == {"kind": "ignored", "ignored": "offers_please"}
    assert await process.request(HELLO) == {"kind": "ok"}
    await process.close()


INVALID = (
    (b"hello?", "one JSON object on each line"),
    (b"[]", "expected an object"),
    (b"{}", "kind: expected this field"),
    (b"\xff\xfe", "one JSON object on each line"),
    (b'{"kind":1}', "kind: expected str"),
    (b'{"a":' * 5000, "one JSON object on each line"),
    (b'{"kind":"hello"}', "hello: run: expected this field"),
    (b'{"kind":"hello","run":"\\n"}', "hello: run: expected a name with printable characters"),
    (b'{"kind":"hello","run":"r","rank":-1}', "hello: rank: expected int >= 0"),
    (b'{"kind":"hello","run":"r","total_steps":9.5}', "hello: total_steps: expected int"),
    (b'{"kind":"steps","step":1,"steps":1}', "steps: step_seconds: expected this field"),
    (b'{"kind":"steps","step":1,"steps":1,"step_seconds":NaN}', "steps: step_seconds: expected float"),
    (b'{"kind":"steps","step":1,"steps":1,"step_seconds":"inf"}', "steps: step_seconds: expected a finite number"),
    (b'{"kind":"steps","step":"x","steps":1,"step_seconds":1}', "steps: step: expected int"),
)


@pytest.mark.parametrize(("line", "expected"), INVALID)
async def test_an_invalid_line_does_not_end_the_connection(server: RunSocket, line: bytes, expected: str) -> None:
    """It is answered with an error that names the key and what was expected, it is counted, and reports go on."""
    process = await Process.connect(server)
    await process.request(HELLO)
    answer = await process.send(line + b"\n")
    assert answer["kind"] == "error"
    assert expected in answer["error"]
    assert server.self_metrics.client_errors == 1
    assert await process.request(STEPS) == {"kind": "ok"}
    await process.close()


async def test_any_number_of_errors_leaves_the_connection_open(server: RunSocket) -> None:
    """A training that always sends one field wrongly keeps its connection and its run."""
    process = await Process.connect(server)
    await process.request(HELLO)
    for _ in range(100):
        assert (await process.request({**STEPS, "tokens": -1}))["kind"] == "error"
    assert await process.request(STEPS) == {"kind": "ok"}
    assert server.self_metrics.client_errors == 100
    await process.close()


@pytest.mark.parametrize("loss", [float("nan"), float("inf"), float("-inf")])
async def test_python_writes_numbers_that_json_does_not_have(server: RunSocket, loss: float) -> None:
    """NaN and Infinity are a loss as they are; an amount, section or level with them is unknown."""
    process = await Process.connect(server)
    await process.request(HELLO)
    broken = {"samples": loss, "section_seconds": {"loss": loss, "NaN": 1.0}}
    assert await process.request({**STEPS, **broken, "loss": loss}) == {"kind": "ok"}
    (report,) = server.registry.take_reports()
    assert repr(report.loss) == repr(loss)
    assert not report.HasField("samples")
    assert (report.tokens, dict(report.section_seconds)) == (4096, {"NaN": 1.0})
    assert server.self_metrics.client_errors == 0
    await process.close()


async def test_whole_numbers_may_be_floats_and_unknown_fields_are_ignored(server: RunSocket) -> None:
    """Steps from a calculation such as 1e3 count, and so does the number of steps in a label."""
    process = await Process.connect(server)
    labels = {"team": "nlp", "seed": 7, "lr": 0.1, "debug": False, "none": None}
    hello = {**HELLO, "labels": labels, "total_steps": 2e3, "new_field": {"x": [1]}}
    assert await process.request(hello) == {"kind": "ok"}
    assert await process.request({**STEPS, "step": 1e3, "steps": 2.0, "new_field": 1}) == {"kind": "ok"}
    (report,) = server.registry.take_reports()
    assert (report.step, report.steps) == (1000, 2)
    kept = server.registry.clients()[os.getpid()].labels
    assert kept == {"team": "nlp", "seed": "7", "lr": "0.1", "debug": "false", "total_steps": "2000"}
    await process.close()


async def test_a_run_of_another_user_is_refused_and_the_next_hello_is_not(server: RunSocket) -> None:
    """The connection stays, so that the training can name another run."""
    server.registry.open(SocketPeer(1, os.getuid() + 1), Hello("theirs"), 0.0)
    process = await Process.connect(server)
    assert "another user" in (await process.request({**HELLO, "run": "theirs"}))["error"]
    assert await process.request(HELLO) == {"kind": "ok"}
    await process.close()


async def test_steps_need_a_hello(server: RunSocket) -> None:
    """Steps without a hello are rejected."""
    process = await Process.connect(server)
    assert "hello" in (await process.request(STEPS))["error"]
    await process.close()


@pytest.mark.parametrize("end", [b"", b"\n"])
async def test_endless_lines_are_cut_off(server: RunSocket, end: bytes) -> None:
    """A line beyond the maximum length ends the connection, with or without a line end."""
    process = await Process.connect(server)
    assert (await process.send(b"x" * (MAX_LINE_BYTES + 10) + end))["kind"] == "error"
    await process.close()


async def test_lines_beyond_the_rate_are_dropped(server: RunSocket) -> None:
    """Lines beyond the rate are dropped, with one error for the first, and other clients are served meanwhile."""
    flooding, calm = await Process.connect(server), await Process.connect(server)
    await flooding.request(HELLO)
    line = json.dumps(STEPS).encode() + b"\n"
    flooding.writer.write(line * 3000)
    assert await calm.request(HELLO) == {"kind": "ok"}
    answers = [(await flooding.answer())["kind"] for _ in range(round(BURST_LINES))]
    assert "error" in answers
    assert sum(report.steps for report in server.registry.take_reports()) < 1000
    await flooding.close()
    await calm.close()


async def test_a_flood_ends_the_connection(server: RunSocket) -> None:
    """A client that sends thousands of lines in a row beyond the rate is disconnected."""
    process = await Process.connect(server)
    server.now = lambda: 0.0  # no line is allowed after the first ones
    process.writer.write(b"\n".join([b"{}"] * (round(BURST_LINES) + MAX_DROPPED_LINES + 2)))
    answers = [await process.answer() for _ in range(round(BURST_LINES) + 2)]
    assert "in a row" in answers[-1]["error"]
    assert await process.is_closed()
    assert server.self_metrics.client_errors == len(answers)


async def test_a_slow_reader_loses_its_connection(server: RunSocket) -> None:
    """A client that leaves its answers unread is disconnected, and the agent does not wait."""
    process = await Process.connect(server)
    server.now = itertools.count().__next__  # a fast clock, so that the rate limit does not apply
    line = b'{"kind":"' + b"k" * 50 + b'"}\n'

    async def write_without_reading() -> None:
        for _ in range(100_000):
            process.writer.write(line * 50)
            await asyncio.sleep(0)
            await process.writer.drain()

    with pytest.raises(ConnectionError):
        await write_without_reading()


async def test_connections_are_limited(server: RunSocket) -> None:
    """A connection beyond the limit gets an error, and the others stay."""
    processes = [await Process.connect(server) for _ in range(MAX_CONNECTIONS)]
    await until_true(lambda: server.self_metrics.clients == MAX_CONNECTIONS)
    late = await Process.connect(server)
    assert "processes are connected" in (await late.answer())["error"]
    assert await late.is_closed()
    assert await processes[0].request(HELLO) == {"kind": "ok"}
    for process in processes:
        await process.close()


def test_a_run_belongs_to_its_user() -> None:
    """Another user is refused while the run is open and for a while after that; then the name is free."""
    registry = RunRegistry()
    hello = Hello("theirs")
    registry.open(SocketPeer(1, 1000), hello, 0.0)
    with pytest.raises(RunRefused):
        registry.open(SocketPeer(2, 1001), hello, 1.0)
    registry.leave(SocketPeer(1, 1000), hello, 2.0)
    with pytest.raises(RunRefused):
        registry.open(SocketPeer(2, 1001), hello, OWNED_SECONDS)
    registry.open(SocketPeer(2, 1001), hello, 3 + OWNED_SECONDS)


async def test_a_stale_socket_is_replaced(tmp_path: Path) -> None:
    """The socket of a killed agent is replaced; that of a running agent is an error."""
    path = tmp_path / "agent.sock"
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(path))
    first = RunSocket(path, RunRegistry(), SelfMetrics())
    await first.start()
    with pytest.raises(SocketRefused, match="another agent"):
        await RunSocket(path, RunRegistry(), SelfMetrics()).start()
    await first.stop()
    assert not path.exists()


async def test_a_file_in_the_way_is_not_removed(tmp_path: Path) -> None:
    """The agent never deletes a file that is not a socket."""
    path = tmp_path / "agent.sock"
    path.write_text("precious")
    with pytest.raises(SocketRefused, match="not a socket"):
        await RunSocket(path, RunRegistry(), SelfMetrics()).start()
    assert path.read_text() == "precious"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=8,
)
fields = st.sampled_from(
    ("run", "rank", "world_size", "labels", "total_steps", "step", "steps", "step_seconds", "loss", "tokens",
     "section_seconds", "levels", "attempt", "group", "total_samples", "policy", "client", "calls", "device_seconds",
     "dropped", "oom_retries", "paused_seconds", "values", "id", "observed", "reason", "from", "to", "where", "name")
)  # fmt: skip
messages = st.builds(
    lambda kind, rest: json.dumps({"kind": kind, **rest}).encode(),
    st.sampled_from(("hello", "steps", "goodbye", "x", *ADJUSTMENT_KINDS)) | json_values,
    st.dictionaries(fields, json_values, max_size=6),
)
lines = (st.binary(max_size=300) | messages).map(lambda line: line.replace(b"\n", b" "))


@given(lines)
def test_any_line_is_a_message_or_a_bad_line(line: bytes) -> None:
    """Any line gives a message or BadLine, and a message can be reported."""
    try:
        message = decode(line)
    except BadLine:
        return
    assert isinstance(message, Hello | StepsMessage | Goodbye | Envelope | AdjustmentMessage)
    if isinstance(message, Hello):
        registry = RunRegistry()
        registry.open(SocketPeer(1, 1), message, 0.0)
        assert all(len(label) <= 200 for pair in registry.clients()[1].labels.items() for label in pair)
    if isinstance(message, StepsMessage):
        step_report(Hello("run"), message, pid=1, uid=1).SerializeToString()


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(lines, min_size=1, max_size=20))
def test_the_connection_is_usable_after_any_lines(tmp_path: Path, sent: list[bytes]) -> None:
    """Each line gets one answer, the next hello and steps are accepted, and another client sees nothing of it."""

    async def pester() -> None:
        server = RunSocket(tmp_path / "fuzz.sock", RunRegistry(), SelfMetrics())
        await server.start()
        calm, process = await Process.connect(server), await Process.connect(server)
        assert await calm.request({**HELLO, "run": "calm"}) == {"kind": "ok"}
        for line in sent:
            process.writer.write(line + b"\n")
        answers = [(await process.answer())["kind"] for line in sent if line.strip()]
        assert set(answers) <= {"ok", "error", "ignored"}
        assert server.self_metrics.client_errors == answers.count("error")
        assert await process.request(HELLO) == {"kind": "ok"}
        assert await process.request(STEPS) == {"kind": "ok"}
        assert await calm.request(STEPS) == {"kind": "ok"}
        assert {report.run for report in server.registry.take_reports()} >= {"calm", "a-run"}
        await process.close()
        await calm.close()
        await server.stop()

    asyncio.run(pester())


amounts = st.floats(0, 1e9)
reports = st.builds(
    StepsMessage, step=st.integers(0, 100), steps=st.integers(0, 100), step_seconds=amounts, tokens=amounts
)


@given(st.lists(reports, min_size=1, max_size=6))
def test_merging_conserves_the_sums(parts: list[StepsMessage]) -> None:
    """For any number of reports in a tick, the sums are those of all reports."""
    hello = Hello("run")
    merged = step_report(hello, parts[0], pid=1, uid=1)
    for part in parts[1:]:
        merge(merged, step_report(hello, part, pid=1, uid=1))
    assert merged.steps == sum(part.steps for part in parts)
    assert merged.step_seconds == pytest.approx(sum(part.step_seconds for part in parts))
    assert merged.tokens == pytest.approx(sum(part.tokens or 0 for part in parts))
    assert merged.step == parts[-1].step
