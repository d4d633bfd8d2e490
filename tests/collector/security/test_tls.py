import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import grpc
import pytest
from cryptography import x509

from flyball_collector.refused_agents import RefusedAgents
from flyball_collector.security.certs import Authority, Issued, Part
from flyball_collector.security.pem import CertificateError
from flyball_collector.security.tls import ServerContexts, TlsFiles
from flyball_collector.wire.call import Call
from flyball_collector.wire.client_limits import ClientLimits
from flyball_collector.wire.events import Limits
from flyball_collector.wire.listening_sockets import open_listening_sockets
from flyball_collector.wire.server import Server
from tests.collector.odd_certificates import CLIENT, odd_certificate, raw_dns_name

EMPTY: Callable[[bytes], bytes] = bytes


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    made = Authority(tmp_path / "certs")
    made.initialise()
    return made


def files_of(authority: Authority, issued: Issued) -> TlsFiles:
    return TlsFiles(issued.certificate_file, issued.key_file, authority.ca_file)


@asynccontextmanager
async def serving(
    files: TlsFiles, *, client_limits: ClientLimits | None = None, refused_agents: RefusedAgents | None = None
) -> AsyncIterator[str]:
    async def names(call: Call) -> None:
        await call.write(",".join(sorted(call.client.names)).encode())

    async def count(call: Call) -> None:
        received = 0
        while await call.read() is not None:
            received += 1
        await call.write(b"%d" % received)

    server = Server(
        {"/t/m": names, "/t/count": count},
        Limits(1_000_000),
        max_streams=10,
        max_age_seconds=60,
        contexts=ServerContexts(files),
        client_limits=client_limits,
        refused_agents=refused_agents,
    )
    (listener,) = open_listening_sockets("127.0.0.1", 0)
    port = listener.getsockname()[1]
    server.start([listener])
    try:
        yield f"127.0.0.1:{port}"
    finally:
        await server.stop(1)


async def ask(address: str, ca: bytes, client: TlsFiles | None) -> bytes:
    pair = (client.key.read_bytes(), client.certificate.read_bytes()) if client else (None, None)
    credentials = grpc.ssl_channel_credentials(ca, *pair)
    options = [("grpc.use_local_subchannel_pool", 1)]
    async with grpc.aio.secure_channel(address, credentials, options=options) as channel:
        call = channel.unary_unary("/t/m", EMPTY, EMPTY)
        answer: bytes = await asyncio.wait_for(call(b"", timeout=60), 60)
        return answer


async def test_an_agents_certificate_is_accepted(authority: Authority) -> None:
    """The server reads the host's name from the certificate."""
    collector = authority.issue("collector", Part.COLLECTOR)
    agent = authority.issue("gpu-01", Part.AGENT)
    async with serving(files_of(authority, collector)) as address:
        assert await ask(address, authority.ca_file.read_bytes(), files_of(authority, agent)) == b"gpu-01"


async def test_other_clients_are_rejected(authority: Authority, tmp_path: Path) -> None:
    """No certificate, one of another authority, an expired one, or a collector's: no stream is opened."""
    collector = authority.issue("collector", Part.COLLECTOR)
    other = Authority(tmp_path / "other")
    other.initialise()
    stranger = other.issue("gpu-01", Part.AGENT)
    long_ago = Authority(tmp_path / "certs", datetime.now(UTC) - timedelta(days=20))
    expired = long_ago.issue("gpu-02", Part.AGENT, days=10)
    async with serving(files_of(authority, collector)) as address:
        ca = authority.ca_file.read_bytes()
        for client in (None, *(files_of(authority, each) for each in (stranger, expired, collector))):
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await ask(address, ca, client)
            assert caught.value.code() is grpc.StatusCode.UNAVAILABLE


@pytest.mark.parametrize(
    ("names", "usages", "reason"),
    [
        (x509.SubjectAlternativeName([x509.DNSName("gpu-01")]), (), "no extended key usage clientAuth"),
        (x509.SubjectAlternativeName([x509.UniformResourceIdentifier("gpu-01")]), CLIENT, "names no host"),
        (raw_dns_name(b"gpu-\xff"), CLIENT, "cannot be read"),
    ],
)
async def test_a_certificate_that_names_no_agent_is_refused_in_words(
    authority: Authority,
    tmp_path: Path,
    names: x509.ExtensionType,
    usages: Sequence[x509.ObjectIdentifier],
    reason: str,
) -> None:
    """The authority has signed it, so the agent's call gets the reason, and the collector shows it."""
    collector, refused = authority.issue("collector", Part.COLLECTOR), RefusedAgents()
    odd = odd_certificate(authority, tmp_path / "odd", names, usages)
    async with serving(files_of(authority, collector), refused_agents=refused) as address:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await ask(address, authority.ca_file.read_bytes(), odd)
        async with channel_to(address, authority, odd) as channel:
            call = channel.stream_stream("/t/m")()
            await call.write(b"first")
            assert await call.code() is grpc.StatusCode.UNAUTHENTICATED
    assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED
    assert reason in str(caught.value.details())
    assert [(agent.address, reason in agent.reason) for agent in refused.recent()] == [("127.0.0.1", True)]
    assert refused.recent()[0].count == 2


async def test_many_messages_go_over_one_connection(authority: Authority) -> None:
    """A backlog is sent as fast as it comes, not one TLS record at each look of the server."""
    collector = authority.issue("collector", Part.COLLECTOR)
    agent = files_of(authority, authority.issue("gpu-01", Part.AGENT))
    async with serving(files_of(authority, collector)) as address, channel_to(address, authority, agent) as channel:
        async with asyncio.timeout(20):  # at one record a look it were 250 s
            assert await channel.stream_unary("/t/count")(iter([bytes(1500)] * 4000)) == b"4000"
            assert await channel.stream_unary("/t/count")(iter([bytes(250_000)] * 40)) == b"40"


async def test_a_certificate_has_its_own_limit_of_calls(authority: Authority) -> None:
    """It holds over all its connections, in proportion to its names, and other certificates are not affected."""
    collector = files_of(authority, authority.issue("collector", Part.COLLECTOR))
    mine = files_of(authority, authority.issue("gpu-01", Part.AGENT, also=["gpu-02"]))
    other = files_of(authority, authority.issue("gpu-03", Part.AGENT))
    async with serving(collector, client_limits=ClientLimits(per_name=2)) as address, AsyncExitStack() as stack:
        channels = [await stack.enter_async_context(channel_to(address, authority, mine)) for _ in range(5)]
        calls = [channel.stream_unary("/t/count")() for channel in channels[:4]]
        for call in calls:
            await call.write(b"x")
        with pytest.raises(grpc.aio.AioRpcError):
            await channels[4].stream_unary("/t/count")(iter([b"x"]), timeout=1)
        assert await ask(address, authority.ca_file.read_bytes(), other) == b"gpu-03"
        for call in calls:
            await call.done_writing()
            assert await call == b"1"


def channel_to(address: str, authority: Authority, client: TlsFiles) -> Any:
    """Return a channel with its own connection; the stubs require more of it than it has."""
    ca, key, certificate = (file.read_bytes() for file in (authority.ca_file, client.key, client.certificate))
    options = [("grpc.use_local_subchannel_pool", 1)]
    return grpc.aio.secure_channel(address, grpc.ssl_channel_credentials(ca, key, certificate), options=options)


async def test_a_collector_of_another_authority_or_name_is_not_trusted(authority: Authority, tmp_path: Path) -> None:
    """The agent checks the server too. An agent's certificate is not valid for a server."""
    other = Authority(tmp_path / "other")
    other.initialise()
    agent = authority.issue("gpu-01", Part.AGENT)
    for issuer, part in ((other, Part.COLLECTOR), (authority, Part.AGENT)):
        server = issuer.issue("localhost", part, also=["127.0.0.1"])
        async with serving(files_of(authority, server)) as address:
            with pytest.raises(grpc.aio.AioRpcError):
                await ask(address, authority.ca_file.read_bytes(), files_of(authority, agent))


async def test_a_new_certificate_is_used_without_a_restart(authority: Authority, tmp_path: Path) -> None:
    """After the files change, the next handshake has the new certificate. Invalid files change nothing."""
    collector = authority.issue("collector", Part.COLLECTOR)
    agent = files_of(authority, authority.issue("gpu-01", Part.AGENT))
    async with serving(files_of(authority, collector)) as address:
        port = int(address.rpartition(":")[2])
        before = await asyncio.to_thread(certificate_shown, port, authority, agent)
        collector.certificate_file.write_text("half a cert")
        assert await asyncio.to_thread(certificate_shown, port, authority, agent) == before
        collector.certificate_file.write_bytes(before_pem(before))
        renewed = Authority(tmp_path / "certs").renew(collector)
        shown = await asyncio.to_thread(certificate_shown, port, authority, agent)
        assert shown != before
        assert shown == der(renewed.certificate_file)


def before_pem(certificate: bytes) -> bytes:
    return ssl.DER_cert_to_PEM_cert(certificate).encode()


def der(file: Path) -> bytes:
    return ssl.PEM_cert_to_DER_cert(file.read_text())


def certificate_shown(port: int, authority: Authority, agent: TlsFiles) -> bytes:
    context = ssl.create_default_context(cafile=authority.ca_file)
    context.load_cert_chain(agent.certificate, agent.key)
    context.set_alpn_protocols(["h2"])
    with (
        socket.create_connection(("127.0.0.1", port), timeout=5) as plain,
        context.wrap_socket(plain, server_hostname="localhost") as connection,
    ):
        shown = connection.getpeercert(binary_form=True)
    assert shown is not None
    return shown


def test_mismatched_files_are_rejected_at_start(authority: Authority) -> None:
    """A mismatched pair is an error before any port is opened."""
    one, two = authority.issue("a", Part.COLLECTOR), authority.issue("b", Part.COLLECTOR)
    with pytest.raises(CertificateError, match="not the private key"):
        ServerContexts(TlsFiles(one.certificate_file, two.key_file, authority.ca_file))
    with pytest.raises(CertificateError, match=r"there is no file /nowhere\.crt"):
        ServerContexts(TlsFiles(Path("/nowhere.crt"), two.key_file, authority.ca_file))
    with pytest.raises(CertificateError, match=r"grpc\.ca_file is not set"):
        ServerContexts(TlsFiles(two.certificate_file, two.key_file))
