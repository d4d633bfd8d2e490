"""Text that is safe for a terminal."""

from hypothesis import given
from hypothesis import strategies as st

from flyball.command.printable import printable


@given(st.text())
def test_only_printable_characters_remain(text: str) -> None:
    """No control character is left, and the length stays."""
    assert printable(text).isprintable()
    assert len(printable(text)) == len(text)
