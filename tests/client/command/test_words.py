from hypothesis import given
from hypothesis import strategies as st

from flyball.command.words import clean


@given(st.text())
def test_clean_text_is_printable(text: str) -> None:
    """Nothing that steers a terminal is left."""
    assert clean(text).isprintable()
    assert len(clean(text)) == len(text)
