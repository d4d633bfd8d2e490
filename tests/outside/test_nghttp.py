"""nghttp and h2load, written with the library nghttp2, are served whatever options they use."""

import re
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.outside.door import SecuredCollector
from tests.outside.programs import needs, run
from tests.processes import Collector, free_port, wait_for

_CHECK = "/grpc.health.v1.Health/Check"
_CALLS = 400
_HEADERS = ("-H", "content-type: application/grpc", "-H", "te: trailers")
_OPTIONS = (
    (),
    ("--header-table-size=0",),
    ("--header-table-size=2048",),
    ("--header-table-size=65536",),
    ("--header-table-size=4096", "--header-table-size=0", "--header-table-size=1024"),
    ("--encoder-header-table-size=0",),
    ("--encoder-header-table-size=65536",),
    ("--window-bits=10", "--connection-window-bits=30"),
    ("--window-bits=30",),
    ("--padding=200",),
    ("--no-dep",),
    ("--no-rfc7540-pri",),
    ("--no-content-length",),
    ("--weight=1",),
    ("--max-concurrent-streams=1",),
    ("--multiply=8",),
    ("--trailer=x-checksum: 1",),
    ("-H", "x-large: " + "v" * 6_000),
)


@pytest.fixture(scope="module")
def empty_message(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with an empty message."""
    file = tmp_path_factory.mktemp("messages") / "empty"
    file.write_bytes(bytes(5))
    return file


@pytest.mark.parametrize("options", _OPTIONS, ids=lambda options: " ".join(options)[:50] or "none")
@pytest.mark.parametrize("secure", [True, False], ids=["tls", "plaintext"])
def test_a_health_check_is_answered(
    secured: SecuredCollector, plain: Collector, empty_message: Path, *, secure: bool, options: tuple[str, ...]
) -> None:
    """The answer has the status 200, the message, and the trailer that means success; the connection ends in order."""
    needs("nghttp")
    address, files = f"http://127.0.0.1:{plain.grpc_port}", []
    if secure:
        mine = secured.certificate("nghttp")
        address = f"https://127.0.0.1:{secured.grpc_port}"
        files = [f"--cert={mine.certificate_file}", f"--key={mine.key_file}", "--no-verify-peer"]
    ended = run(
        ["nghttp", "-v", "-n", "--timeout=60", *options, *files, *_HEADERS, "-d", empty_message, address + _CHECK]
    )
    times = 8 if "--multiply=8" in options else 1
    assert ended.status == 0, ended.output
    assert ended.output.count(":status: 200") == times, ended.output
    assert ended.output.count("grpc-status: 0") == times, ended.output
    assert re.findall(r"error_code=(?!NO_ERROR)\w+", ended.output) == []


def test_headers_beyond_the_limit_are_refused_with_a_reason(plain: Collector, empty_message: Path) -> None:
    """More than 16 KB of headers in CONTINUATION frames are refused, and the next client is served."""
    needs("nghttp")
    address = f"http://127.0.0.1:{plain.grpc_port}{_CHECK}"
    command = ["nghttp", "-v", "-n", "--timeout=60", *_HEADERS, "-d", empty_message, address]
    refused = run([*command, "--continuation"])
    assert "grpc-status: 0" not in refused.output
    assert re.search(r"of headers|grpc-status: 8|:status: 431", refused.output), refused.output
    assert "grpc-status: 0" in run(command).output


def test_h2load_gets_an_answer_to_each_of_hundreds(plain: Collector, empty_message: Path) -> None:
    """Calls on four connections, each below the limit of 300 a second, are all answered with success."""
    needs("h2load")
    _load(f"http://127.0.0.1:{plain.grpc_port}", empty_message)


def test_h2load_gets_the_same_through_haproxy_and_tls(
    secured: SecuredCollector, empty_message: Path, tmp_path: Path
) -> None:
    """HAProxy presents the certificate, because h2load cannot; all calls are answered over TLS."""
    needs("h2load")
    needs("haproxy")
    with _haproxy(secured, tmp_path) as port:
        _load(f"http://127.0.0.1:{port}", empty_message)


def test_h2load_without_a_certificate_is_refused(secured: SecuredCollector, empty_message: Path) -> None:
    """No call of a client without a certificate is answered."""
    needs("h2load")
    ended = run(_h2load(f"https://127.0.0.1:{secured.grpc_port}", empty_message))
    assert "status codes: 0 2xx" in ended.output, ended.output


def _load(address: str, message: Path) -> None:
    ended = run(_h2load(address, message))
    assert f"{_CALLS} succeeded, 0 failed, 0 errored, 0 timeout" in ended.output, ended.output
    assert f"status codes: {_CALLS} 2xx" in ended.output


def _h2load(address: str, message: Path) -> list[object]:
    limits = ["-n", _CALLS, "-c", 4, "-m", 8, "--rps=100", "--connection-inactivity-timeout=60"]
    return ["h2load", *limits, *_HEADERS, "-d", message, address + _CHECK]


@contextmanager
def _haproxy(collector: SecuredCollector, folder: Path) -> Iterator[int]:
    """Run HAProxy, which accepts plaintext and connects to the collector with TLS and a certificate."""
    mine, port = collector.certificate("haproxy"), free_port()
    both = folder / "haproxy.pem"
    both.write_bytes(mine.certificate_file.read_bytes() + mine.key_file.read_bytes())
    configuration = folder / "haproxy.cfg"
    server = f"127.0.0.1:{collector.grpc_port} ssl crt {both} ca-file {collector.authority.ca_file} alpn h2"
    configuration.write_text(
        "defaults\n mode tcp\n timeout connect 5s\n timeout client 30s\n timeout server 30s\n"
        f"listen agents\n bind 127.0.0.1:{port}\n server collector {server} sni str(localhost) verifyhost localhost\n"
    )
    with subprocess.Popen(["haproxy", "-db", "-f", configuration], stderr=subprocess.DEVNULL) as proxy:
        try:
            wait_for("HAProxy listens", lambda: _listens(port))
            yield port
        finally:
            proxy.kill()


def _listens(port: int) -> bool:
    with socket.create_connection(("127.0.0.1", port), 1):
        return True
