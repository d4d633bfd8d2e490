"""Axis scales and SVG elements."""

from hypothesis import assume, given
from hypothesis import strategies as st

from flyball_reports.svg import element, label, scale

positive = st.floats(min_value=1e-6, max_value=1e18)


@given(st.lists(positive, min_size=2, max_size=8), st.booleans())
def test_a_scale_keeps_order_and_stays_inside_its_ends(values: list[float], logarithmic: bool) -> None:
    """Positions lie between the ends in the order of their values, and ticks lie inside."""
    drawn = scale(values, 10.0, 500.0, logarithmic=logarithmic)
    places = [drawn.at(value) for value in sorted(values)]
    assert places == sorted(places)
    assert all(10.0 <= place <= 500.0 for place in places)
    ticks = drawn.ticks()
    assert 1 <= len(ticks) <= 16
    assert all(drawn.low <= tick <= drawn.high * (1 + 1e-9) for tick in ticks)


@given(positive, positive)
def test_linear_scales_begin_at_zero(first: float, second: float) -> None:
    """Lengths on a linear scale can be compared."""
    assume(first != second)
    drawn = scale([first, second], 0.0, 100.0)
    assert drawn.low == 0
    assert drawn.at(max(first, second)) <= 100.0


def test_text_and_attributes_are_escaped() -> None:
    """Text on a drawing cannot become markup."""
    assert label("<b>&", 1.0, 2.0) == '<text x="1.0" y="2.0" class="label" text-anchor="start">&lt;b&gt;&amp;</text>'
    assert element("rect", title='"<') == '<rect title="&quot;&lt;"/>'
