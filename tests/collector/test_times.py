"""Times of requests and answers."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball_collector.times import moment, parse_time

NOW = 1_893_456_000 * 10**9


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("now", NOW),
        ("-15m", NOW - 900 * 10**9),
        ("-1.5h", NOW - 5400 * 10**9),
        ("-250ms", NOW - 250 * 10**6),
        ("1893456000", NOW),
        ("1893456000.25", NOW + 250_000_000),
        ("2030-01-01T00:00:00Z", NOW),
        ("2030-01-01T01:00:00+01:00", NOW),
        ("2030-01-01T01:00:00 01:00", NOW),  # the + was not encoded
        ("2030-01-01T00:00:00.5Z", NOW + 500_000_000),
    ],
)
def test_each_format_of_a_time_is_parsed(text: str, expected: int) -> None:
    """RFC 3339, unix seconds and relative times give the same instants."""
    assert parse_time(text, NOW) == expected


@pytest.mark.parametrize("text", ["", "yesterday", "2030-01-01T00:00:00", "-15", "-15y", "1e9", "nan", "9" * 40])
def test_other_texts_are_refused(text: str) -> None:
    """The message names the text and the expected formats."""
    with pytest.raises(ValueError, match="RFC 3339"):
        parse_time(text, NOW)


@given(st.text(max_size=40))
def test_any_text_gives_a_time_or_a_value_error(text: str) -> None:
    """No other exception is raised."""
    with contextlib.suppress(ValueError):
        assert isinstance(parse_time(text, NOW), int)


@given(st.integers(0, 4_000_000_000_000))
def test_both_formats_of_an_answer_agree(milliseconds: int) -> None:
    """The RFC 3339 text parses to the same instant as the seconds."""
    answered = moment(milliseconds * 10**6)
    assert parse_time(answered.rfc3339, 0) == milliseconds * 10**6
    assert answered.unix == milliseconds / 1000
