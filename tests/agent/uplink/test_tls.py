"""Tests of mutual TLS, and of new certificate files at the next connection."""

import asyncio
from pathlib import Path

import grpc

from flyball_agent.clock import KernelClock
from flyball_agent.self_metrics import SelfMetrics
from flyball_agent.settings import SpoolSettings, TlsSettings
from flyball_agent.spool.spool import Spool
from flyball_agent.spool.testing import a_tick, an_epoch
from flyball_agent.testing import MemoryCollector, until_true
from flyball_agent.uplink.stream import AgentState
from flyball_agent.uplink.uplink import Uplink, UplinkSettings
from flyball_collector.security.certs import Authority, Issued, Part


def server_credentials(ca: Path, issued: Issued) -> grpc.ServerCredentials:
    """Return credentials that require a certificate of the client."""
    pair = (issued.key_file.read_bytes(), issued.certificate_file.read_bytes())
    return grpc.ssl_server_credentials([pair], ca.read_bytes(), require_client_auth=True)


async def test_mutual_tls_and_renewal(tmp_path: Path) -> None:
    """A wrong certificate is refused with a reason; after the files are replaced, the next attempt succeeds."""
    ours, theirs = Authority(tmp_path / "ours"), Authority(tmp_path / "theirs")
    ours.initialise()
    theirs.initialise()
    issued, stranger = ours.issue("host-a", Part.AGENT), theirs.issue("host-a", Part.AGENT)
    collector = MemoryCollector()
    await collector.start(server_credentials(ours.ca_file, ours.issue("collector", Part.COLLECTOR)))
    certificate, key = tmp_path / "agent.crt", tmp_path / "agent.key"
    certificate.write_bytes(stranger.certificate_file.read_bytes())
    key.write_bytes(stranger.key_file.read_bytes())

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
    tls = TlsSettings(ca_file=str(ours.ca_file), certificate_file=str(certificate), key_file=str(key))
    agent = AgentState("host-a", "0.1.0", spool, KernelClock(), self_metrics)
    uplink = Uplink(UplinkSettings([collector.address], tls, max_backoff_seconds=0.2), agent, chance=lambda: 0.5)
    running = asyncio.create_task(uplink.run(stop))
    await until_true(lambda: "UNAVAILABLE" in uplink.state)
    assert collector.hellos == []

    key.unlink()
    await until_true(lambda: "certificate files" in uplink.state)

    certificate.write_bytes(issued.certificate_file.read_bytes())
    key.write_bytes(issued.key_file.read_bytes())
    await collector.until(lambda: bool(collector.held) and bool(collector.held[an_epoch(1).id].records))
    stop.set()
    await asyncio.wait_for(running, 60)
    spool.close()
    await collector.stop()
