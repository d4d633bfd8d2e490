"""The identity of a host: its name is valid, and its certificate contains the name."""

from pathlib import Path

import grpc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball_collector.ingest.identity import check_certificate, check_host
from flyball_collector.ingest.rejection import Rejection
from flyball_collector.security.certs import Authority, Issued, Part
from flyball_collector.security.tls import ServerContexts, TlsFiles
from flyball_collector.store.memory import MemoryStore
from flyball_collector.testing import AgentDouble, make_epoch, make_hello, make_layout, make_record, running_ingest
from flyball_proto.v1 import telemetry_pb2 as pb

LAYOUT = make_layout()


def agent_credentials(authority: Authority, issued: Issued) -> grpc.ChannelCredentials:
    return grpc.ssl_channel_credentials(
        authority.ca_file.read_bytes(), issued.key_file.read_bytes(), issued.certificate_file.read_bytes()
    )


async def test_a_certificate_serves_only_its_host(tmp_path: Path) -> None:
    """With its own certificate a host is served; with another one the answer names that certificate's host."""
    authority = Authority(tmp_path / "certs")
    authority.initialise()
    collector = authority.issue("collector", Part.COLLECTOR)
    files = TlsFiles(collector.certificate_file, collector.key_file, authority.ca_file)
    own = agent_credentials(authority, authority.issue("host1", Part.AGENT))
    other = agent_credentials(authority, authority.issue("host2", Part.AGENT))
    async with running_ingest(MemoryStore(), contexts=ServerContexts(files)) as running:
        agent = await AgentDouble.connect(running.port, "host1", own)
        await agent.greet(layout=LAYOUT)
        await agent.send(make_epoch().id, [make_record(n, LAYOUT) for n in range(60)])
        await agent.acknowledged(60)
        thief = await AgentDouble.connect(running.port, "host1", other)
        await thief.write(pb.AgentMessage(hello=make_hello("host1")))
        code, message = await thief.ended()
        assert code is grpc.StatusCode.PERMISSION_DENIED
        assert "host2" in message
        state = running.fleet.get("host1")
        assert state is not None
        assert state.connected
        assert running.server.counts.superseded == 0
        await agent.close()
        await thief.close()


async def test_without_a_certificate_no_agent_is_served(tmp_path: Path) -> None:
    """The TLS handshake fails."""
    authority = Authority(tmp_path / "certs")
    authority.initialise()
    collector = authority.issue("collector", Part.COLLECTOR)
    files = TlsFiles(collector.certificate_file, collector.key_file, authority.ca_file)
    async with running_ingest(MemoryStore(), contexts=ServerContexts(files)) as running:
        anonymous = grpc.ssl_channel_credentials(authority.ca_file.read_bytes())
        agent = await AgentDouble.connect(running.port, "host1", anonymous)
        await agent.write(pb.AgentMessage(hello=make_hello("host1")))
        code, _ = await agent.ended(10)
        assert code is grpc.StatusCode.UNAVAILABLE
        assert running.fleet.hosts() == []
        await agent.close()


@pytest.mark.parametrize("name", ["a", "gpu-01", "node_3.rack7.example.org", "A" * 253])
def test_usual_names_are_accepted(name: str) -> None:
    """Common forms of host names are valid."""
    assert check_host(name) == name


@pytest.mark.parametrize("name", ["", "-a", "a-", ".", "a b", "a/b", "a\n", "ä", "a" * 254, '"', "a\x00"])
def test_other_names_are_refused(name: str) -> None:
    """Names that could break a metric, a path or a page are refused."""
    with pytest.raises(Rejection):
        check_host(name)


@given(st.text(max_size=300))
def test_any_text_is_valid_or_refused(name: str) -> None:
    """A valid name consists of letters, digits and three punctuation characters."""
    try:
        check_host(name)
    except Rejection:
        return
    assert name.replace(".", "").replace("-", "").replace("_", "").isalnum()
    assert name.isascii()


def test_a_certificate_serves_all_its_names() -> None:
    """Any of its names is accepted; a certificate without names serves no host."""
    check_certificate("b", frozenset({"a", "b"}))
    with pytest.raises(Rejection, match="a, b"):
        check_certificate("c", frozenset({"a", "b"}))
    with pytest.raises(Rejection, match="no host"):
        check_certificate("c", frozenset())
