"""What calls hand over, one by one and together."""

import ast

from flyball_audit.flow.handed import Arguments, handed, hands_over_loader, joined_arguments
from flyball_audit.flow.values import LOSS, MODEL, ON_HOST, UNKNOWN, Tag, Value


def _call(code: str) -> ast.Call:
    node = ast.parse(code, mode="eval").body
    assert isinstance(node, ast.Call)
    return node


def test_places_are_known_up_to_the_first_star() -> None:
    """Behind `*rest` nobody knows which argument is which, and `**more` hides keywords."""
    plain = handed(_call("f(a, b, k=c)"), (LOSS, MODEL), (("k", ON_HOST),))
    assert plain == Arguments((LOSS, MODEL), (("k", ON_HOST),), complete=True)
    assert plain.keyword("k") == ON_HOST
    assert plain.keyword("absent") is None
    starred = handed(_call("f(a, *rest, b)"), (LOSS, UNKNOWN, MODEL), ())
    assert starred == Arguments((LOSS,), (), complete=False)
    assert not handed(_call("f(**more)"), (), (("", UNKNOWN),)).complete


def test_several_calls_hand_over_either() -> None:
    """Argument by argument, as far as each call goes."""
    first = Arguments((LOSS,), (("k", ON_HOST),), complete=True)
    second = Arguments((MODEL, ON_HOST), (), complete=False)
    both = joined_arguments([first, second])
    assert both.positional[0].tags == LOSS.tags | {Tag.MODEL, Tag.SUPPOSED}
    assert both.positional[1] == ON_HOST
    assert both.keyword("k") == ON_HOST
    assert not both.complete


def test_a_call_that_is_handed_a_loader_is_known() -> None:
    """By itself or in a tuple; what is no call hands nothing over."""
    for code, known in (("every(10, a)", True), ("mix(('train', a))", True), ("every(10, b)", False)):
        call = _call(code)
        names = {each: Value(frozenset({Tag.LOADER})) for each in ast.walk(call) if getattr(each, "id", "") == "a"}
        assert hands_over_loader(names, call) is known
    assert not hands_over_loader({}, ast.Name("a"))
