"""Orders are carried out by the process that they name, or answered with a reason; hostile answers change nothing."""

import asyncio
import json
import os
import socket
import threading
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from flyball_agent.captures.desk import MAX_ORDERS, CaptureDesk, DeskSettings
from flyball_agent.captures.known_processes import AgentProcesses
from flyball_agent.captures.result_socket import ResultSocket
from flyball_agent.captures.results import CaptureResults
from flyball_agent.runs.registry import RunRegistry
from flyball_agent.runs.socket import RunSocket
from flyball_agent.self_metrics import SelfMetrics
from flyball_agent.testing import until_true
from flyball_proto.v1 import telemetry_pb2 as pb

ID = "00000000000000a1"
GPU_PROCESS = 1  # always there, and never a client


@dataclass
class Host:
    """An agent's captures with its two sockets."""

    desk: CaptureDesk
    runs: RunSocket
    results: ResultSocket
    states: list[pb.Captured]

    def order(self, what: str = "trace", capture: str = ID, **fields: Any) -> None:
        chosen = {"run": "r", "pid": os.getpid(), "steps": 3, "seconds": 30, "max_bytes": 1000, **fields}
        self.desk.take(pb.CaptureOrder(id=capture, what=what, **chosen))

    async def answer(self, state: "pb.Captured.State.ValueType") -> pb.Captured:
        """Return the next message in a state."""
        async with asyncio.timeout(20):
            while True:
                while self.desk.ready:
                    message = await asyncio.to_thread(self.desk.next_message)
                    if message is not None and message.state == state:
                        return message
                await asyncio.sleep(0.01)

    async def failure(self) -> str:
        return (await self.answer(pb.Captured.FAILED)).detail


@pytest.fixture
async def host(tmp_path: Path) -> AsyncIterator[Host]:
    """An agent that knows its clients, and one process on a GPU."""
    registry = RunRegistry()
    runs = RunSocket(tmp_path / "agent.sock", registry, SelfMetrics())
    tenancy = pb.Tenancy(members=[pb.Member(pid=GPU_PROCESS, run="slurm-1")]).SerializeToString()
    processes = AgentProcesses(registry, lambda: tenancy, lambda: runs)
    place = tmp_path / "agent.sock.captures"
    settings = DeskSettings("node-1", Path("/proc"), place)
    desk = CaptureDesk(settings, CaptureResults(tmp_path / "captures"), processes)
    results = ResultSocket(place, desk.answers)
    runs.captures = desk
    await runs.start()
    results.start()
    yield Host(desk, runs, results, [])
    desk.stop()
    results.stop()
    await runs.stop()


class Training:
    """The connection of this process, as a training."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    @classmethod
    async def open(cls, host: Host, run: str = "r") -> "Training":
        training = cls(*await asyncio.open_unix_connection(str(host.runs.path)))
        await training.send(kind="hello", run=run)
        assert await training.line() == {"kind": "ok"}
        return training

    async def send(self, **message: object) -> None:
        self.writer.write(json.dumps(message).encode() + b"\n")
        await self.writer.drain()

    async def line(self) -> dict[str, Any]:
        async with asyncio.timeout(20):
            found: dict[str, Any] = json.loads(await self.reader.readline())
        return found

    def close(self) -> None:
        self.writer.close()


def deliver(place: str, body: bytes, path: Path, **message: object) -> None:
    """Deliver a file as the client does."""
    path.write_bytes(body)
    with path.open("rb") as file:
        send(place, json.dumps({"kind": "captured", **message}).encode(), file.fileno())


def send(place: str, line: bytes, *descriptors: int) -> None:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(place)
        socket.send_fds(connection, [line], descriptors)


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


async def test_a_process_delivers_what_was_ordered(host: Host, tmp_path: Path) -> None:
    """It gets the order on its connection, reports progress, and its file becomes the result."""
    training, before = await Training.open(host), open_files()
    host.order()
    order = await training.line()
    assert {key: order[key] for key in ("kind", "id", "what", "steps", "max_bytes")} == {
        "kind": "capture",
        "id": ID,
        "what": "trace",
        "steps": 3,
        "max_bytes": 1000,
    }
    assert next(iter(order)) == "kind", "clients look for it first"
    await training.send(kind="captured", id=ID, state="running", detail="step 1 of 3")
    assert (await host.answer(pb.Captured.RUNNING)).detail == "step 1 of 3"
    deliver(order["socket"], b"the trace", tmp_path / "result", id=ID, file_name="trace.json.gz", detail="all good")
    result = await host.answer(pb.Captured.DATA)
    assert (result.data, result.source, result.file_name, result.detail) == (
        b"the trace",
        "client",
        "trace.json.gz",
        "all good",
    )
    assert open_files() == before, "no descriptor is left"
    training.close()


async def test_a_second_result_is_refused(host: Host, tmp_path: Path) -> None:
    """Only the first one counts, and its file is the only one that is kept."""
    training = await Training.open(host)
    host.order()
    place = (await training.line())["socket"]
    deliver(place, b"first", tmp_path / "a", id=ID)
    assert (await host.answer(pb.Captured.DATA)).data == b"first"
    before = open_files()
    deliver(place, b"second", tmp_path / "b", id=ID)
    deliver(place, b"nobody asked", tmp_path / "c", id="ffffffffffffffff")
    await until_true(lambda: host.results.refused == 2)
    host.desk.results.begin_stream(lambda: None)
    assert (await host.answer(pb.Captured.DATA)).data == b"first"
    assert open_files() == before
    training.close()


async def test_a_process_cannot_answer_for_another(host: Host, tmp_path: Path) -> None:
    """The kernel provides the process id, so an answer from another process is refused."""
    host.desk.answers.expect(ID, GPU_PROCESS)
    place = str(host.results.path)
    deliver(place, b"forged", tmp_path / "a", id=ID)
    await until_true(lambda: host.results.refused == 1)
    assert host.desk.answers.is_expected(ID, GPU_PROCESS)
    training = await Training.open(host)
    await training.send(kind="captured", id=ID, state="failed", detail="forged")
    assert await training.line() == {"kind": "ok"}
    assert host.desk.answers.is_expected(ID, GPU_PROCESS)
    training.close()


RUBBISH = (b"", b"{", b"[]", b"\xff" * 4000, b"[" * 4000, b'{"id": 5}', b'"text"', b"null")


@pytest.mark.parametrize("line", RUBBISH)
async def test_rubbish_on_the_socket_for_results_is_refused(host: Host, tmp_path: Path, line: bytes) -> None:
    """With or without descriptors, also with several, nothing is left open and the order goes on."""
    training = await Training.open(host)
    host.order()
    place = (await training.line())["socket"]
    before = open_files()
    (tmp_path / "x").write_bytes(b"x")
    with (tmp_path / "x").open("rb") as file:
        for count in (0, 1, 3):
            with socket.socket(socket.AF_UNIX) as connection:
                connection.connect(place)
                if line or count:
                    socket.send_fds(connection, [line or b" "], [file.fileno()] * count)
    await until_true(lambda: host.results.refused == 3)
    await until_true(lambda: open_files() == before)
    deliver(place, b"after all", tmp_path / "y", id=ID)
    assert (await host.answer(pb.Captured.DATA)).data == b"after all"
    training.close()


async def test_a_pipe_is_not_a_result(host: Host) -> None:
    """Reading it could wait for ever."""
    training = await Training.open(host)
    host.order()
    place = (await training.line())["socket"]
    reading, writing = os.pipe()
    send(place, json.dumps({"id": ID}).encode(), reading)
    assert await host.failure() == "the process delivered something that is not a regular file"
    os.close(reading)
    os.close(writing)
    training.close()


async def test_ten_gigabytes_are_refused(host: Host, tmp_path: Path) -> None:
    """A sparse file beyond the limit of the order is not copied."""
    training = await Training.open(host)
    host.order()
    place = (await training.line())["socket"]
    with (tmp_path / "huge").open("w+b") as file:
        file.truncate(10 * 1024**3)
        send(place, json.dumps({"id": ID}).encode(), file.fileno())
    assert "the limit is 1,000" in await host.failure()
    training.close()


async def test_the_reason_of_a_process_is_passed_on(host: Host) -> None:
    """A client that cannot capture reports why."""
    training = await Training.open(host)
    host.order("syncs")
    await training.line()
    await training.send(kind="captured", id=ID, state="failed", detail="CUDA is not initialised")
    assert await host.failure() == "CUDA is not initialised"
    training.close()


async def test_a_process_that_leaves_ends_its_order(host: Host) -> None:
    """Nobody waits for the time limit then."""
    training = await Training.open(host)
    host.order()
    await training.line()
    training.close()
    assert await host.failure() == f"process {os.getpid()} has ended or left its run"


async def test_a_process_that_never_answers_is_given_up(host: Host, tmp_path: Path) -> None:
    """The reason names what to do about a rank that hangs; an answer that comes later is refused."""
    training = await Training.open(host)
    host.order(seconds=1)
    place = (await training.line())["socket"]
    reason = await host.failure()
    assert "did not answer within 1 s" in reason
    assert "capture its stacks" in reason
    deliver(place, b"late", tmp_path / "late", id=ID)
    await until_true(lambda: host.results.refused == 1)
    training.close()


async def test_an_order_that_is_forgotten_ends(host: Host, tmp_path: Path) -> None:
    """The collector needs no more: the process's answer is refused, and nothing is sent."""
    training = await Training.open(host)
    host.order()
    place = (await training.line())["socket"]
    host.desk.take_next(pb.CaptureNext(id=ID, forget=True))
    await asyncio.sleep(0)
    deliver(place, b"late", tmp_path / "late", id=ID)
    await until_true(lambda: host.results.refused == 1)
    assert not host.desk.ready
    training.close()


async def test_orders_that_are_not_possible_have_a_reason(host: Host) -> None:
    """Unknown processes, other runs, processes without a client, and unknown kinds."""
    training = await Training.open(host)
    for fields, reason in (
        ({"pid": 2**22 + 1}, "belongs to no run on this host"),
        ({"pid": 0}, "process 0 belongs to no run"),
        ({"run": "another"}, "belongs to run 'r'"),
        ({"pid": GPU_PROCESS}, "does not report to the agent, so only its stacks can be captured"),
        ({"what": "core_dump"}, "does not know the capture 'core_dump'"),
    ):
        host.order(**fields)
        assert reason in await host.failure()
    host.order("stacks", pid=2**22 + 1)
    assert "belongs to no run" in await host.failure()
    for capture in ("../../etc/passwd", "", "A" * 16):
        host.order(capture=capture)
        assert not host.desk.ready, "an id that is not ours is ignored"
    training.close()


async def test_orders_are_limited_and_never_doubled(host: Host) -> None:
    """A repetition after a reconnect is the same order; one too many has a reason."""
    training = await Training.open(host)
    for number in range(MAX_ORDERS):
        host.order(capture=f"{number:016x}")
        host.order(capture=f"{number:016x}")
    host.order(capture="f" * 16)
    assert "64 captures are in progress on this host" in await host.failure()
    kinds = [(await training.line())["kind"] for _ in range(MAX_ORDERS)]
    assert kinds == ["capture"] * MAX_ORDERS
    training.close()


async def test_captures_can_be_switched_off(tmp_path: Path) -> None:
    """With captures = false every order is refused with the setting's name."""
    registry = RunRegistry()
    settings = DeskSettings("node-1", Path("/proc"), None, enabled=False)
    desk = CaptureDesk(settings, CaptureResults(tmp_path), AgentProcesses(registry, bytes, lambda: None))
    desk.take(pb.CaptureOrder(id=ID, what="stacks", pid=os.getpid()))
    message = desk.next_message()
    assert message is not None
    assert "switched off on this host (setting captures of the agent)" in message.detail
    desk.stop()


async def test_stacks_of_a_process_without_a_client_need_only_its_gpu(host: Host) -> None:
    """The job's name may differ from the run of another rank, which the collector knows."""
    host.order("stacks", pid=GPU_PROCESS, run="the run of another rank", max_bytes=10**6)
    text = (await host.answer(pb.Captured.DATA)).data.decode()
    assert f"{GPU_PROCESS:>8}  " in text


async def test_stacks_of_this_process_have_its_kernel_threads(host: Host) -> None:
    """Whatever else is possible, the kernel's view of each thread is in the text."""
    training, waiting = await Training.open(host), threading.Event()
    thread = threading.Thread(target=waiting.wait)
    thread.start()
    host.order("stacks", rank=3, max_bytes=10**6)
    text = (await host.answer(pb.Captured.DATA)).data.decode()
    waiting.set()
    thread.join()
    assert text.startswith(f"Stacks of rank 3 of run r on node-1, process {os.getpid()}, ")
    assert "== Kernel ==" in text
    assert f"{thread.native_id:>8}  S (sleeping)" in text
    training.close()
