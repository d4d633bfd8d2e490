"""Tests of the connection to the agent: it never waits, never raises, and never touches a descriptor of the script."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from flyball.training.agent_link import AgentLink
from tests.client.training.listening_socket import ListeningSocket

SECOND = 1_000_000_000
HELLO = b'{"kind":"hello"}\n'
STEPS = b'{"kind":"steps"}\n'


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[ListeningSocket]:
    """Yield a listening socket."""
    with ListeningSocket(tmp_path / "agent.sock") as listening:
        yield listening


def link_to(*paths: Path) -> AgentLink:
    """Return a link that introduces itself."""
    link = AgentLink(lambda: [str(path) for path in paths])
    link.introduce(HELLO)
    return link


def kinds(agent: ListeningSocket) -> list[str]:
    """Return the kinds of the lines that have arrived."""
    return [line["kind"] for line in agent.lines()]


def test_the_hello_comes_first(agent: ListeningSocket) -> None:
    """Each connection begins with the hello."""
    link = link_to(agent.path)
    assert link.send(STEPS, 0)
    assert kinds(agent) == ["hello", "steps"]


def test_the_first_path_that_answers_is_used(agent: ListeningSocket, tmp_path: Path) -> None:
    """Paths without a socket are passed over."""
    (tmp_path / "file").write_text("no socket")
    assert link_to(tmp_path / "absent", tmp_path / "file", Path("x" * 500), agent.path).send(STEPS, 0)


def test_without_an_agent_it_tries_again_later(tmp_path: Path) -> None:
    """Attempts are spaced out, so that a missing agent costs nothing."""
    attempts: list[int] = []
    now = 0

    def find() -> list[str]:
        attempts.append(now)
        return [str(tmp_path / "absent")]

    link = AgentLink(find)
    for second in range(60):
        now = second * SECOND
        assert not link.send(STEPS, now)
    assert attempts[:2] == [0, SECOND]
    assert 6 <= len(attempts) <= 12


def test_it_connects_again_after_the_agent_was_restarted(agent: ListeningSocket) -> None:
    """After a restart the run is opened again within a second."""
    link = link_to(agent.path)
    link.send(STEPS, 0)
    agent.accept()
    agent.send({"kind": "ok"})
    assert link.receive(0) == []
    agent.close()
    agent.path.unlink()
    assert not link.send(STEPS, SECOND) or not link.send(STEPS, SECOND)
    with ListeningSocket(agent.path) as restarted:
        assert link.send(STEPS, 2 * SECOND)
        assert kinds(restarted) == ["hello", "steps"]


def test_a_stuck_agent_refuses_lines(agent: ListeningSocket) -> None:
    """A line is taken as a whole or not at all, and the stream of lines stays whole."""
    link = link_to(agent.path)
    line = b'{"kind":"steps","pad":"' + b"x" * 50_000 + b'"}\n'
    taken = 0
    while link.send(line, 0):
        taken += 1
        assert taken < 1000
    assert not link.send(STEPS, 0)
    assert kinds(agent).count("steps") >= taken - 1
    assert link.send(STEPS, 0)
    assert kinds(agent)[-1] == "steps"


def test_an_agent_with_a_full_queue_is_like_none(tmp_path: Path) -> None:
    """Connecting to an agent that accepts nobody does not wait."""
    with ListeningSocket(tmp_path / "agent.sock", backlog=0) as agent:
        links = [link_to(agent.path) for _ in range(20)]
        assert not all(link.send(STEPS, 0) for link in links)


def test_a_refused_run_is_tried_again_after_a_minute(agent: ListeningSocket) -> None:
    """A run of another user is not asked for each second."""
    link = link_to(agent.path)
    link.send(STEPS, 0)
    agent.accept()
    agent.send({"kind": "error", "error": "run 'a' belongs to another user"})
    link.receive(0)
    assert not link.connected
    assert "another user" in link.refusal
    assert not link.send(STEPS, 59 * SECOND)
    assert link.send(STEPS, 61 * SECOND)


def test_a_refusal_counts_until_the_agent_accepts_the_run(agent: ListeningSocket) -> None:
    """A run that was accepted later is not reported as refused, also when its agent is away at the end."""
    link = link_to(agent.path)
    link.send(STEPS, 0)
    agent.accept()
    agent.send({"kind": "error", "error": "run 'a' belongs to another user"})
    link.receive(0)
    link.send(STEPS, 61 * SECOND)
    assert "another user" in link.refusal
    agent.accept()
    agent.send({"kind": "ok"})
    assert link.receive(61 * SECOND) == []
    link.close()
    assert link.refusal == ""


def test_an_invalid_report_leaves_the_connection_open(agent: ListeningSocket) -> None:
    """An error about one report is kept, and the next report is sent."""
    link = link_to(agent.path)
    link.send(STEPS, 0)
    agent.accept()
    agent.send({"kind": "error", "error": "steps: tokens: expected float >= 0.0"})
    assert link.receive(0) == []
    assert "tokens" in link.error
    assert link.refusal == ""
    assert link.send(STEPS, SECOND)


def test_endless_bytes_of_the_agent_end_the_connection(agent: ListeningSocket) -> None:
    """Bytes without a line end are neither kept nor read without end."""
    link = link_to(agent.path)
    link.send(STEPS, 0)
    accepted = agent.accept()
    accepted.setblocking(False)
    for _ in range(100):
        try:
            accepted.send(b"x" * 65536)
        except BlockingIOError:
            pass
        except OSError:
            break
        link.receive(0)
    assert not link.connected


def test_a_descriptor_that_the_script_uses_again_is_left_alone(agent: ListeningSocket, tmp_path: Path) -> None:
    """A script that closes all descriptors may get the same number for a file: nothing is written to it."""
    link = link_to(agent.path)
    link.send(STEPS, 0)
    number = link.descriptor
    os.close(number)
    with (tmp_path / "checkpoint").open("wb") as file:
        assert file.fileno() == number
        link.send(STEPS, SECOND)
        link.receive(SECOND)
        link.close()
        os.fstat(number)
    assert (tmp_path / "checkpoint").read_bytes() == b""


def test_closed_standard_streams_are_not_used_for_the_connection(agent: ListeningSocket) -> None:
    """With standard input closed, its number must not become the socket: what is printed would go to the agent."""
    saved = os.dup(0)
    os.close(0)
    try:
        assert not link_to(agent.path).send(STEPS, 0)
    finally:
        os.dup2(saved, 0)
        os.close(saved)


def test_a_connection_is_not_inherited(agent: ListeningSocket) -> None:
    """Programs that the script starts do not keep the connection open."""
    link = link_to(agent.path)
    link.send(STEPS, 0)
    assert not os.get_inheritable(link.descriptor)
    link.close()


def test_no_descriptor_leaks_over_many_restarts(tmp_path: Path) -> None:
    """A thousand connections later as many descriptors are open as before."""
    path = tmp_path / "agent.sock"
    before = len(list(Path("/proc/self/fd").iterdir()))
    with ListeningSocket(path) as agent:
        link = link_to(path)
        for attempt in range(1000):
            link.send(STEPS, attempt * 20 * SECOND)
            agent.accept()
            agent.hang_up()
            link.receive(attempt * 20 * SECOND)
    assert len(list(Path("/proc/self/fd").iterdir())) <= before
    assert not link.connected


def test_a_datagram_socket_in_the_way_is_ignored(tmp_path: Path) -> None:
    """Another kind of socket at the path is like none."""
    other = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    other.bind(str(tmp_path / "agent.sock"))
    assert not link_to(tmp_path / "agent.sock").send(STEPS, 0)
    other.close()
