"""A client that floods the agents' port, and what follows for it and for others."""

import json
import time
from contextlib import closing, suppress

from tests.outside.door import SecuredCollector
from tests.outside.frames import PING, PREFACE, frame, settings
from tests.outside.raw_client import Target
from tests.processes import wait_for

SECONDS = 60.0


def send_and_read(collector: SecuredCollector, host: str, sent: bytes) -> bytes:
    """Connect as a host, send, and return what comes first; nothing if the connection is closed."""
    issued = collector.certificate(host)
    deadline, authority = time.monotonic() + SECONDS, collector.authority.ca_file
    with closing(Target(collector.grpc_port, deadline, issued.certificate_file, authority).tls()) as client:
        client.settimeout(SECONDS)
        with suppress(OSError):
            client.sendall(sent)
            return client.recv(65536)
    return b""


def test_a_client_that_floods_waits_before_it_connects_again(secured: SecuredCollector) -> None:
    """After a flood, connections of its certificate are closed for a while; those of other hosts are served."""
    greeting = PREFACE + settings()
    assert send_and_read(secured, "flooding", greeting)
    send_and_read(secured, "flooding", greeting + frame(PING, 0, 0, bytes(8)) * 2000)
    wait_for("its connections are closed", lambda: not send_and_read(secured, "flooding", greeting))
    assert send_and_read(secured, "calm", greeting)
    wait_for("the refusal is listed", lambda: "too much work" in json.dumps(secured.get("/api/v1/refused-agents")))
