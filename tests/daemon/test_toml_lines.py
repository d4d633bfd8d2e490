import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball_daemon.toml_lines import key_lines

TEXT = """\
# first
a = 1
"b c" = 2
d.e = 3

[table]  # a comment
a = [
  4,
]
[table.inner]
'x' = '''
a = 9
'''
y = 1
"""


@pytest.mark.parametrize(
    ("key", "line"),
    [("a", 2), ("b c", 3), ("d.e", 4), ("table", 6), ("table.a", 7), ("table.inner.x", 11), ("table.inner.y", 14)],
)
def test_keys_are_found_on_their_lines(key: str, line: int) -> None:
    """Keys are found if they are quoted, dotted, in tables, or after values of several lines."""
    assert tomllib.loads(TEXT)
    assert key_lines(TEXT)[key] == line


@given(st.text(alphabet=st.sampled_from("ab.=[]\"'#\n \\")))
def test_any_text_gives_lines_within_it(text: str) -> None:
    """For any text, every line number is inside the text."""
    assert all(1 <= line <= len(text.splitlines()) for line in key_lines(text).values())
