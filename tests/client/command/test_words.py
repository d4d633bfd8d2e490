import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball.command.words import bytes_in_words, clean, plural


@pytest.mark.parametrize(
    ("count", "words"),
    [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (200 * 1024**2, "200 MiB"), (2**60, "1024 PiB")],
)
def test_bytes_are_said_in_a_unit_that_fits(count: int, words: str) -> None:
    """Two or three digits and a unit."""
    assert bytes_in_words(count) == words


def test_one_has_no_s() -> None:
    """1 host, 2 hosts."""
    assert [plural(count, "host") for count in (0, 1, 2000)] == ["0 hosts", "1 host", "2,000 hosts"]


@given(st.text())
def test_clean_text_is_printable(text: str) -> None:
    """Nothing that steers a terminal is left."""
    assert clean(text).isprintable()
    assert len(clean(text)) == len(text)
