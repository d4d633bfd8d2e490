"""The server against the text of RFC 9113, RFC 7541 and gRPC's PROTOCOL-HTTP2, each case without and with TLS."""

from collections.abc import Iterator, Mapping

import pytest

from tests.outside.http2 import connection_cases, field_cases, frame_cases, grpc_cases, hpack_cases, stream_cases
from tests.outside.http2.case import Case
from tests.outside.http2.doors import Door, open_doors

CASES = [
    *connection_cases.CASES,
    *frame_cases.CASES,
    *stream_cases.CASES,
    *field_cases.CASES,
    *hpack_cases.CASES,
    *grpc_cases.CASES,
]


@pytest.fixture(scope="module")
def doors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, Door]]:
    with open_doors(tmp_path_factory.mktemp("doors")) as both:
        yield both


@pytest.mark.parametrize("transport", ["plaintext", "TLS"])
@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_the_server_does_what_the_standard_requires(doors: Mapping[str, Door], transport: str, case: Case) -> None:
    """Each case has the outcome of its section, and an error of a stream leaves the connection usable."""
    with doors[transport].connect() as peer:
        peer.play(case)
        if case.expected.survives:
            assert peer.call_again(), (case.id, peer.seen)
        assert case.expected.right(peer.seen), (case.id, case.expected, peer.seen)


def test_there_are_many_cases_with_different_names() -> None:
    """At least 150 cases, none of them twice."""
    assert len({case.id for case in CASES}) == len(CASES) >= 150
