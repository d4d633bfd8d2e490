"""gRPC's client for Node.js, which shares no code with the one for Python, is served alike."""

import base64
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from flyball_proto import PROTOCOL_VERSION
from tests.outside.door import SecuredCollector
from tests.outside.node_packages import node_packages
from tests.processes import Collector
from tests.raw_agent import LAYOUT
from tests.stored import read_stored

_PROTO = Path(__file__).parents[2] / "proto" / "flyball_proto" / "v1" / "telemetry.proto"
_CLIENT = Path(__file__).with_name("node_client.mjs")
ANSWER_SECONDS = 15.0  # measured: 0.2; a busy machine is allowed more, the fault took 31.8


@pytest.fixture(scope="module")
def packages() -> Path:
    """The installed libraries."""
    return node_packages()


def _run(packages: Path, *arguments: object) -> dict[str, Any]:
    layout = {"digest": str(LAYOUT.digest), "body": base64.b64encode(LAYOUT.body).decode()}
    environment = {
        **os.environ,
        "NODE_PACKAGES": str(packages),
        "PROTO": str(_PROTO),
        "PROTOCOL": str(PROTOCOL_VERSION),
        "LAYOUT": json.dumps(layout),
    }
    command = ["node", str(_CLIENT), *map(str, arguments)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=environment)
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)  # type: ignore[no-any-return]


def _assert_stored(collector: Collector, host: str, count: int) -> None:
    (stored,) = read_stored(collector.database, host).values()
    assert sorted(stored.rows.elements()) == list(range(count))
    assert [stored.values[n][0] for n in range(count)] == list(range(count))


def test_two_hundred_messages_a_second_are_answered_over_tls(secured: SecuredCollector, packages: Path) -> None:
    """Records that come at 200 a second are stored and acknowledged soon after the last."""
    mine = secured.certificate("node-js")
    files = (secured.authority.ca_file, mine.certificate_file, mine.key_file)
    noticed = _run(packages, f"localhost:{secured.grpc_port}", "node-js", 600, 200, *files)
    assert noticed["welcomed"], noticed
    assert noticed["settled"] == 600, noticed
    assert noticed["seconds"] < ANSWER_SECONDS, noticed
    _assert_stored(secured, "node-js", 600)


def test_records_are_acknowledged_without_tls(plain: Collector, packages: Path) -> None:
    """The same client is served on the loopback without TLS."""
    noticed = _run(packages, f"127.0.0.1:{plain.grpc_port}", "node-js", 120, 400)
    assert noticed["settled"] == 120, noticed
    _assert_stored(plain, "node-js", 120)


def test_the_reason_of_a_refusal_arrives(secured: SecuredCollector, packages: Path) -> None:
    """A client whose certificate is for another host reads the reason, as with gRPC's own server."""
    other = secured.certificate("node-js-other")
    files = (secured.authority.ca_file, other.certificate_file, other.key_file)
    noticed = _run(packages, f"localhost:{secured.grpc_port}", "node-js-victim", 1, 1, *files)
    assert not noticed["welcomed"]
    assert "node-js-victim" in noticed["status"], noticed
    assert "node-js-other" in noticed["status"], noticed
