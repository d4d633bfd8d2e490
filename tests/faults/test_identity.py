"""Certificates decide who may send for a host: wrong, missing, expired and borrowed ones are refused."""

import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import grpc
import pytest

from flyball_collector.security.certs import Authority, Issued, Part
from tests.judge import last_sequence
from tests.processes import Agent, Collector, wait_for
from tests.raw_agent import RawAgent

pytestmark = pytest.mark.faults


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """A private authority with a collector's certificate."""
    made = Authority(tmp_path_factory.mktemp("ca"))
    made.initialise()
    return made


@pytest.fixture(scope="module")
def server(authority: Authority) -> Issued:
    return authority.issue("collector", Part.COLLECTOR, also=("localhost", "127.0.0.1"))


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory, authority: Authority, server: Issued) -> Iterator[Collector]:
    settings = {
        "grpc.ca_file": authority.ca_file,
        "grpc.certificate_file": server.certificate_file,
        "grpc.key_file": server.key_file,
    }
    with Collector(tmp_path_factory.mktemp("collector"), settings) as process:
        yield process.start_ready()


def _credentials(ca: Authority, issued: Issued | None) -> grpc.ChannelCredentials:
    if issued is None:
        return grpc.ssl_channel_credentials(ca.ca_file.read_bytes())
    return grpc.ssl_channel_credentials(
        ca.ca_file.read_bytes(), issued.key_file.read_bytes(), issued.certificate_file.read_bytes()
    )


def _connect(collector: Collector, host: str, credentials: grpc.ChannelCredentials | None) -> RawAgent:
    return RawAgent(collector.grpc_port, host, credentials=credentials).open()


def test_a_host_with_its_own_certificate_is_heard(collector: Collector, authority: Authority) -> None:
    """The ordinary case, or the refusals below would prove nothing."""
    mine = authority.issue("honest", Part.AGENT)
    with _connect(collector, "honest", _credentials(authority, mine)) as agent:
        agent.send_records([0])
        wait_for("the record arrives", lambda: last_sequence(collector, "honest") == 0)


def test_another_hosts_name_is_refused_by_name(collector: Collector, authority: Authority) -> None:
    """A certificate for one host cannot send for another."""
    borrowed = authority.issue("mallory", Part.AGENT)
    with _connect(collector, "victim", _credentials(authority, borrowed)) as agent:
        assert agent.wait_ended() is grpc.StatusCode.PERMISSION_DENIED
        assert "victim" in agent.detail()
        assert "mallory" in agent.detail()
    assert last_sequence(collector, "victim") == -1


def test_no_certificate_and_no_tls_are_refused(collector: Collector, authority: Authority) -> None:
    """A client without a certificate is refused, and so is plain text."""
    for credentials in (_credentials(authority, None), None):
        with _connect(collector, "stranger", credentials) as agent:
            assert agent.wait_ended() is grpc.StatusCode.UNAVAILABLE
    assert last_sequence(collector, "stranger") == -1


def test_a_certificate_of_another_authority_is_refused(
    collector: Collector, authority: Authority, tmp_path: Path
) -> None:
    """The right name under the wrong signature is a stranger."""
    other = Authority(tmp_path)
    other.initialise()
    forged = other.issue("honest", Part.AGENT)
    chain = grpc.ssl_channel_credentials(
        authority.ca_file.read_bytes(), forged.key_file.read_bytes(), forged.certificate_file.read_bytes()
    )
    with _connect(collector, "honest", chain) as agent:
        assert agent.wait_ended() is grpc.StatusCode.UNAVAILABLE


def test_an_expired_certificate_is_refused(collector: Collector, authority: Authority) -> None:
    """Last year's certificate is refused."""
    past = Authority(authority.ca_file.parent, now=datetime.now(UTC) - timedelta(days=90))
    expired = past.issue("late", Part.AGENT, days=30)
    with _connect(collector, "late", _credentials(authority, expired)) as agent:
        assert agent.wait_ended() is grpc.StatusCode.UNAVAILABLE


def test_a_renewed_certificate_is_taken_without_a_restart(
    collector: Collector, authority: Authority, server: Issued
) -> None:
    """The collector presents the renewed certificate to the next connection, and open streams go on."""
    mine = authority.issue("steady", Part.AGENT)
    with _connect(collector, "steady", _credentials(authority, mine)) as agent:
        agent.send_records([0])
        wait_for("the record arrives", lambda: last_sequence(collector, "steady") == 0)
        before = server.certificate_file.read_bytes()
        authority.renew(server)
        assert server.certificate_file.read_bytes() != before
        time.sleep(0.1)
        with _connect(collector, "honest", _credentials(authority, authority.renew(mine))) as other:
            assert other.wait_ended() is grpc.StatusCode.PERMISSION_DENIED
        agent.send_records([1])
        wait_for("the open stream goes on", lambda: last_sequence(collector, "steady") == 1)


def test_a_real_agent_with_a_wrong_certificate_logs_the_reason_and_keeps_its_records(
    collector: Collector, authority: Authority, tmp_path: Path
) -> None:
    """The operator reads the reason in the agent's log; with the right certificate everything arrives."""
    wrong = authority.issue("somebody-else", Part.AGENT)
    right = authority.issue("node-7", Part.AGENT)
    link = tmp_path / "agent.crt", tmp_path / "agent.key"
    _point(link, wrong)
    settings = {
        "host": "node-7",
        "tls.ca_file": authority.ca_file,
        "tls.certificate_file": link[0],
        "tls.key_file": link[1],
    }
    with Agent(tmp_path / "agent", collector.grpc_port, settings) as agent:
        agent.start()
        wait_for("the reason is logged", lambda: "somebody-else" in agent.log.read_text())
        time.sleep(1.5)
        _point(link, right)
        wait_for("records arrive", lambda: last_sequence(collector, "node-7") > 2)
        agent.stop()


def _point(link: tuple[Path, Path], issued: Issued) -> None:
    link[0].write_bytes(issued.certificate_file.read_bytes())
    link[1].write_bytes(issued.key_file.read_bytes())


def test_many_handshakes_at_once_are_survived(collector: Collector, authority: Authority) -> None:
    """A fleet that comes back at once: fifty handshakes in the same instant all succeed."""
    issued = [authority.issue(f"many-{n}", Part.AGENT) for n in range(50)]
    agents = [
        RawAgent(collector.grpc_port, f"many-{n}", credentials=_credentials(authority, c)) for n, c in enumerate(issued)
    ]
    starters = [threading.Thread(target=agent.open) for agent in agents]
    for starter in starters:
        starter.start()
    for starter in starters:
        starter.join()
    for agent in agents:
        agent.wait("welcomed", lambda a: bool(a.replies))
        agent.__exit__()
