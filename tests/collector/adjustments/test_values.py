"""Values travel as JSON texts."""

import pytest

from flyball_collector.adjustments.values import WrongValue, parse_value, same_value, value_text


@pytest.mark.parametrize("value", [8, 0.3, True, False, "bf16", -1, ""])
def test_a_value_comes_back_as_it_was_sent(value: bool | int | float | str) -> None:
    """A value and its type survive the way as a text."""
    found = parse_value(value_text(value))
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize("text", ["", "nan", "NaN", "Infinity", "1e999", "[1]", "null", "{}", '"' + "x" * 300 + '"'])
def test_what_is_not_one_value_is_refused(text: str) -> None:
    """Lists, null, endless and not finite values are refused with a reason."""
    with pytest.raises(WrongValue, match=r"\w"):
        parse_value(text)


def test_true_is_not_one() -> None:
    """True and 1 differ, while 8 and 8.0 are the same."""
    assert same_value(8, 8.0)
    assert not same_value(True, 1)
    assert not same_value(0, False)
    assert not same_value(None, 0)
