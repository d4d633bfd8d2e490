"""Tests of the reasons for which an agent cannot connect: each names the file or setting that is wrong."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID

from flyball_agent.clock import KernelClock
from flyball_agent.self_metrics import SelfMetrics
from flyball_agent.settings import SpoolSettings, TlsSettings
from flyball_agent.spool.spool import Spool
from flyball_agent.spool.testing import a_tick, an_epoch
from flyball_agent.testing import until_true
from flyball_agent.uplink.failure_reason import failure_reason
from flyball_agent.uplink.stream import AgentState
from flyball_agent.uplink.uplink import Uplink, UplinkSettings
from flyball_collector.security.certs import Authority, Part
from flyball_collector.security.tls import ServerContexts, TlsFiles
from flyball_collector.store.memory import MemoryStore
from flyball_collector.testing import running_ingest
from tests.collector.odd_certificates import odd_certificate

HOST = x509.SubjectAlternativeName([x509.DNSName("host-a")])
ELSEWHERE = x509.SubjectAlternativeName([x509.DNSName("elsewhere")])
SERVER = (ExtendedKeyUsageOID.SERVER_AUTH,)


def test_other_failures_keep_their_words() -> None:
    """The status of the collector is in words already. Its length is limited."""
    assert failure_reason("PERMISSION_DENIED", "host 'a'") == "PERMISSION_DENIED: host 'a'"
    assert len(failure_reason("UNAVAILABLE", "x" * 1000)) == 200


Files = Callable[[Authority, Authority, Path], tuple[TlsFiles | None, TlsFiles]]


def collector(ours: Authority) -> TlsFiles:
    issued = ours.issue("localhost", Part.COLLECTOR)
    return TlsFiles(issued.certificate_file, issued.key_file, ours.ca_file)


def agent(authority: Authority, host: str, ca: Authority) -> TlsFiles:
    issued = authority.issue(host, Part.AGENT)
    return TlsFiles(issued.certificate_file, issued.key_file, ca.ca_file)


def without_a_usage(ours: Authority, folder: Path) -> TlsFiles:
    return odd_certificate(ours, folder, HOST, ())


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        (lambda ours, theirs, _: (collector(ours), agent(theirs, "host-a", ours)), "refuses this host's certificate"),
        (lambda ours, theirs, _: (collector(ours), agent(ours, "host-a", theirs)), "not signed by the authority"),
        (lambda ours, _, __: (collector(ours), agent(ours, "host-b", ours)), "presented a certificate for host-b"),
        (lambda ours, _, folder: (collector(ours), without_a_usage(ours, folder)), "extended key usage clientAuth"),
        (lambda ours, _, __: (None, agent(ours, "host-a", ours)), "does not use TLS on this port"),
        (
            lambda ours, _, folder: (odd_certificate(ours, folder, ELSEWHERE, SERVER), agent(ours, "host-a", ours)),
            "certificate is for another name",
        ),
    ],
)
async def test_the_reason_is_in_words(tmp_path: Path, files: Files, reason: str) -> None:
    """An agent with wrong files reports what is wrong with them, against the real collector."""
    ours, theirs = Authority(tmp_path / "ours"), Authority(tmp_path / "theirs")
    ours.initialise()
    theirs.initialise()
    of_collector, of_agent = files(ours, theirs, tmp_path / "odd")
    contexts = ServerContexts(of_collector) if of_collector is not None else None
    tls = TlsSettings(ca_file=str(of_agent.ca), certificate_file=str(of_agent.certificate), key_file=str(of_agent.key))
    self_metrics, stop = SelfMetrics(), asyncio.Event()
    spool = Spool(
        tmp_path / "spool",
        SpoolSettings(),
        clock=KernelClock(),
        self_metrics=self_metrics,
        announce=lambda _kind, _text: None,
    )
    spool.begin(an_epoch(1))
    spool.append(a_tick(0))
    state = AgentState("host-a", "0.1.0", spool, KernelClock(), self_metrics)
    async with running_ingest(MemoryStore(), contexts=contexts) as running:
        address = [f"localhost:{running.port}"]
        uplink = Uplink(UplinkSettings(address, tls, max_backoff_seconds=0.2), state, chance=lambda: 0.5)
        task = asyncio.create_task(uplink.run(stop))
        await until_true(lambda: reason in uplink.state)
        stop.set()
        await asyncio.wait_for(task, 60)
    spool.close()
