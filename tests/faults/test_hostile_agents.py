"""Whatever an agent sends, the sender gets an error, the fault is counted, and nothing else is disturbed."""

import resource
import socket
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest

from flyball_proto.v1 import telemetry_pb2 as pb
from tests.processes import Collector, wait_for
from tests.raw_agent import LAYOUT, RawAgent, checksum, definition, record
from tests.stored import read_stored

pytestmark = pytest.mark.faults


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collector]:
    """One collector for all: each test must leave it healthy for the next."""
    with Collector(
        tmp_path_factory.mktemp("collector"), {"not_reporting_after_seconds": 2, "limits.records_per_second": 1000}
    ) as process:
        yield process.start_ready()


@pytest.fixture(autouse=True)
def _undisturbed(collector: Collector) -> Iterator[None]:
    """A well-behaved host goes on while the test misbehaves."""
    with RawAgent(collector.grpc_port, "well-behaved").open() as agent:
        agent.send_records([0])
        yield
        agent.send_records([1])
        wait_for("the well-behaved host reports", lambda: _sequence(collector, "well-behaved") == 1)
    assert collector.alive(), collector.tail()


def _sequence(collector: Collector, host: str) -> int | None:
    latest = collector.get(f"/api/v1/hosts/{host}/latest")
    values = [reading["value"] for reading in latest["readings"] if reading["metric"] == "test_number_total"]
    return int(values[0]) if values else None


def _after_stop(collector: Collector, host: str) -> dict[bytes, list[int]]:
    """Return what the store has for a host, once its open block is written."""
    wait_for(
        f"the open block of {host} is stored",
        lambda: any(read_stored(collector.database, host).values()),
        seconds=15,
        pause_seconds=0.3,
    )
    stored = read_stored(collector.database, host)
    return {epoch: sorted(found.rows.elements()) for epoch, found in stored.items()}


def test_duplicated_and_reordered_batches_are_stored_once(collector: Collector) -> None:
    """Sixty records sent three times, backwards and overlapping, are sixty records, and settle."""
    with RawAgent(collector.grpc_port, "shuffled").open() as agent:
        for start in (40, 20, 0, 10, 30, 0, 40):
            agent.send_records(reversed(range(start, start + 20)))
        agent.wait("the block settles", lambda a: a.settled() == 60)
        stored = read_stored(collector.database, "shuffled")[agent.epoch]
    assert sorted(stored.rows.elements()) == list(range(60))
    assert all(row == (n, checksum(agent.epoch, n)) for n, row in stored.values.items())


def test_a_message_beyond_the_limit_ends_only_its_stream(collector: Collector) -> None:
    """More than four mebibytes at once is refused by name."""
    with RawAgent(collector.grpc_port, "huge").open() as agent:
        agent.send(pb.AgentMessage(records=pb.Records(epoch=agent.epoch, records=[bytes(5 * 2**20)])))
        assert agent.wait_ended() is grpc.StatusCode.RESOURCE_EXHAUSTED


def test_records_that_do_not_fit_their_layout_are_refused_and_the_rest_is_kept(collector: Collector) -> None:
    """A broken record is refused with its sequence; its neighbours in the same message are stored."""
    with RawAgent(collector.grpc_port, "broken").open() as agent:
        broken = record(agent.epoch, 1)
        broken.values = b"seven.."
        unknown = record(agent.epoch, 2, layout=12345)
        good = [record(agent.epoch, n) for n in (0, 3)]
        rubbish = b"\xff\xff\xff\xff"
        bodies = [r.SerializeToString() for r in (good[0], broken, unknown, good[1])]
        agent.send(pb.AgentMessage(records=pb.Records(epoch=agent.epoch, records=[*bodies, rubbish])))
        agent.wait("the refusals come", lambda a: {1, 2} <= _refused(a))
        agent.send_records(range(4, 60))
        agent.wait("the block is settled anyway", lambda a: a.settled() == 60)
        stored = read_stored(collector.database, "broken")[agent.epoch]
    assert set(range(60)) - set(stored.rows) == {1, 2}
    assert [n for n in range(60) if n in stored.refused] == [1, 2]
    wait_for("they are counted", lambda: (collector.metric("flyball_collector_refused_records_total") or 0) >= 2)


def _refused(agent: RawAgent) -> set[int]:
    return {
        n
        for reply in list(agent.replies)
        if reply.WhichOneof("kind") == "refused"
        for r in reply.refused.ranges
        for n in range(r.first, r.next)
    }


def test_a_definition_under_a_false_digest_is_refused(collector: Collector) -> None:
    """A layout under a digest that is not its own is refused."""
    with RawAgent(collector.grpc_port, "liar").open() as agent:
        false = definition(LAYOUT)
        false.digest ^= 1
        agent.send(pb.AgentMessage(definition=false))
        agent.send(
            pb.AgentMessage(
                records=pb.Records(
                    epoch=agent.epoch, records=[record(agent.epoch, 0, layout=false.digest).SerializeToString()]
                )
            )
        )
        wait_for("refused or ended", lambda: agent.error is not None or _refused(agent) == {0})


def test_a_stream_without_hello_is_ended_with_a_reason(collector: Collector) -> None:
    """The first message must be a hello."""
    with RawAgent(collector.grpc_port, "rude") as agent:
        agent.open()
    with RawAgent(collector.grpc_port, "") as agent:
        agent.open()
        assert agent.wait_ended() is grpc.StatusCode.INVALID_ARGUMENT
        assert "host" in agent.detail()


@pytest.mark.parametrize("name", ["../etc", "a" * 300, "two words", "line\nbreak", 'quote"'])
def test_host_names_that_are_none_are_refused(collector: Collector, name: str) -> None:
    """A host name ends up in paths, labels and pages."""
    with RawAgent(collector.grpc_port, name).open() as agent:
        assert agent.wait_ended() is grpc.StatusCode.INVALID_ARGUMENT


def test_the_newest_stream_of_a_host_supersedes_the_older(collector: Collector) -> None:
    """Two streams under one name are never mixed: the older one is ended with the reason."""
    with RawAgent(collector.grpc_port, "twice").open() as old:
        old.wait("welcomed", lambda a: bool(a.replies))
        with RawAgent(collector.grpc_port, "twice", epoch=old.epoch).open() as new:
            assert old.wait_ended() is grpc.StatusCode.ABORTED
            assert "superseded" in old.detail()
            new.send_records([0])
            wait_for("the newer stream reports", lambda: _sequence(collector, "twice") == 0)


def test_two_machines_under_one_name_are_reported(collector: Collector) -> None:
    """Alternating boot ids mean two machines: the duplicate is reported and records are not mixed."""
    first, second = bytes(15) + b"1", bytes(15) + b"2"
    for _ in range(3):
        for epoch, boot in ((first, "boot-a"), (second, "boot-b")):
            with RawAgent(collector.grpc_port, "doppelganger", epoch=epoch, boot_id=boot).open() as agent:
                agent.wait("welcomed", lambda a: bool(a.replies))
    wait_for("the duplicate is shown", lambda: collector.get("/api/v1/hosts/doppelganger")["host"]["duplicate"])


def test_a_slow_reader_is_let_go_and_costs_no_memory(collector: Collector) -> None:
    """A client that never reads its replies cannot make the collector hoard them."""
    before = collector.resident_bytes()
    with socket.create_connection(("127.0.0.1", collector.grpc_port)) as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        deaf.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0]))
        ping = bytes([0, 0, 8, 6, 0, 0, 0, 0, 0]) + b"flyball!"
        deaf.settimeout(0.5)
        try:
            for _ in range(200_000):
                deaf.sendall(ping)
        except OSError:
            pass  # let go, or its buffer is full: either is right
    assert collector.resident_bytes() - before < 50e6


def test_ten_thousand_connections_leave_the_collector_alive(collector: Collector) -> None:
    """Idle connections are limited in number, memory and time."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = min(10_000, hard - 500)
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted + 400, hard))
    before = collector.resident_bytes()
    idle: list[socket.socket] = []
    try:
        for _ in range(wanted):
            try:
                idle.append(socket.create_connection(("127.0.0.1", collector.grpc_port), 2))
            except OSError:
                break
        with RawAgent(collector.grpc_port, "in-the-crowd").open() as agent:
            agent.send_records([0])
            wait_for("the host reports", lambda: _sequence(collector, "in-the-crowd") == 0, seconds=60)
        assert collector.resident_bytes() - before < 600e6
    finally:
        for end in idle:
            end.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_rubbish_instead_of_http2_is_dropped(collector: Collector, tmp_path: Path) -> None:
    """Bytes of no known protocol close the connection and change nothing else."""
    del tmp_path
    for rubbish in (b"GET / HTTP/1.1\r\n\r\n", bytes(range(256)) * 64, b"\x16\x03\x01" + bytes(500)):
        with socket.create_connection(("127.0.0.1", collector.grpc_port), 5) as end:
            end.sendall(rubbish)
            end.settimeout(5)
            try:
                while end.recv(4096):
                    pass
            except OSError:
                pass
