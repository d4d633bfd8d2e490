from hypothesis import given
from hypothesis import strategies as st

from flyball_collector.exporter.escape import help_text, label_names, label_value, labels_text


def test_special_characters_are_escaped_and_others_replaced() -> None:
    """Quotes, backslashes and line feeds are escaped; control characters and lone surrogates are replaced."""
    assert label_value('a"b\\c\nd\te') == 'a\\"b\\\\c\\nd\te'
    assert label_value("\0\r\x1b\ud800") == "\N{REPLACEMENT CHARACTER}" * 4


@given(st.text(st.one_of(st.characters(), st.sampled_from('\\"\n\0\r\ud800'))))
def test_no_value_ends_its_quotes_or_its_line(text: str) -> None:
    """Any text becomes valid UTF-8 without a line feed or an unescaped quote."""
    value = label_value(text)
    value.encode()
    plain = value.replace("\\\\", "").replace('\\"', "").replace("\\n", "")
    assert not set(plain) & set('"\\\n\0\r')


def test_help_is_one_line_and_quotes_follow_the_format() -> None:
    """White space is folded; only OpenMetrics escapes quotes."""
    assert help_text('a\n "b" \\c', quotes=False) == 'a "b" \\\\c'
    assert help_text('a\n "b" \\c', quotes=True) == 'a \\"b\\" \\\\c'


def test_empty_labels_are_absent() -> None:
    """An empty value and a missing label are the same for Prometheus."""
    assert labels_text([("a", "1"), ("b", ""), ("c", "2")]) == 'a="1",c="2"'


@given(st.lists(st.sampled_from(["instance", "job", "exported_job", "x", "exported_x"]), max_size=5))
def test_label_names_are_unique_and_not_reserved(names: list[str]) -> None:
    """No two labels of a series share a name, and none has a reserved name."""
    result = label_names(names)
    assert len(set(result)) == len(names)
    assert not {"instance", "job"} & set(result)
