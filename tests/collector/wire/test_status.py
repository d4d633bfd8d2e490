"""Statuses, as trailers carry them."""

import urllib.parse

import grpc
from hypothesis import given
from hypothesis import strategies as st

from flyball_collector.wire.status import StatusCode, percent_encoded


@given(st.text())
def test_any_text_is_printable_and_comes_back(text: str) -> None:
    """Headers hold printable ASCII alone; what is data_frame survives it."""
    encoded = percent_encoded(text)
    assert all(0x20 <= byte <= 0x7E for byte in encoded)
    whole = text.encode("utf-8", "replace").decode()
    assert urllib.parse.unquote(encoded.decode()) == whole


def test_the_codes_are_those_of_grpc() -> None:
    """By name and number, all of them."""
    assert {code.name: int(code) for code in StatusCode} == {code.name: code.value[0] for code in grpc.StatusCode}
