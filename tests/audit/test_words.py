"""Patterns are looked for alternative by alternative, with the same answer as a search."""

import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball_audit.rules import RULES
from flyball_audit.words import held_by_matches, holds_any, stands_in, vocabulary
from tests.audit.expectations import CORPUS

TEXTS = [each.read_text() for each in sorted(CORPUS.glob("*/*.py"))]
MODULES = {sys.modules[each.look.__module__] for each in RULES}
PATTERNS = sorted(
    {each for module in MODULES for each in vars(module).values() if isinstance(each, re.Pattern)},
    key=lambda each: each.pattern,
)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"no_sync", "no_sync"), (r"\.accumulate\(", ".accumulate("), (r"\bc(?<=\bc)uda\b", "uda"),
        (r"colou?r", "colo"),
        (r"ab+cd", "ab"), (r"a{2}bc", "bc"), (r"x[)\]|]yz", "yz"), (r"(all|one)_grad", "_grad"), (r"a.b", ""),
        (r"(a|b)?", ""), (r"^use +torch", "torch"), (r"a\|b", "a|b"), (r"\w+", ""), (r"d\d\dxy", "xy"),
        (r"ab*?cd", "cd"), (r"[]a]bc", "bc"), (r"a{b", "a{b"),
    ],
)  # fmt: skip
def test_the_longest_run_of_letters_is_what_each_match_holds(pattern: str, text: str) -> None:
    """Letters that may be missing, classes and groups end a run; a boundary does not."""
    assert held_by_matches(pattern) == text


@given(st.from_regex(re.compile(r"(?:no_(?:sync|op)|col[ou]{1,2}r?|x{0,2}yz+|[ab]cd?e|\.to\(|a\|b)"), fullmatch=True))
def test_every_match_is_found(text: str) -> None:
    """Whatever a pattern can match is not ruled out by the letters of its alternatives."""
    assert stands_in(re.compile(r"no_(?:sync|op)|col[ou]{1,2}r?|x{0,2}yz+|[ab]cd?e|\.to\(|a\|b"), f"f = {text};")


@given(st.sampled_from(PATTERNS), st.sampled_from(TEXTS))
def test_the_rules_own_patterns_are_found_where_a_search_finds_them(pattern: re.Pattern[str], text: str) -> None:
    """Over the snippets of all rules."""
    assert stands_in(pattern, text) is (pattern.search(text) is not None)


@pytest.mark.parametrize("pattern", [r"(?i)half|float", r"(a)\1|b", r"(?P<x>a)|b", r"\x41b|c"])
def test_odd_patterns_are_searched_as_they_are(pattern: str) -> None:
    """What cannot be taken apart safely is not."""
    words = re.compile(pattern)
    for text in ("HALF", "aa", "b", "Ab", "c", "z"):
        assert stands_in(words, text) is (words.search(text) is not None)


@given(st.text(alphabet="ab_9ä .(\n\x1c\udc80"), st.lists(st.text(alphabet="ab_9ä .("), max_size=3))
def test_a_vocabulary_tells_what_its_text_does(text: str, words: list[str]) -> None:
    """Of words and parts of them; texts with blanks, brackets or marks are looked for in the text itself."""
    assert holds_any(text, vocabulary(text), words) is any(each in text for each in words)


def test_a_vocabulary_holds_each_word_once() -> None:
    """However often it stands in the text, and whatever stands around it."""
    assert sorted(vocabulary("loss.backward()\nloss = f(loss, ämne_2)").split()) == ["backward", "f", "loss", "ämne_2"]
