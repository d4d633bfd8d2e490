"""The lint of words finds what must not come back, and nothing else."""

from pathlib import Path

import pytest

from tests.plain_words import LEFT_OUT, ROOT, WORDS, Hit, files, hits, words_of

BANNED = "told"


def found(text: str, path: str = "agent/module.py") -> list[str]:
    return [hit.found for hit in hits(path, text)]


@pytest.mark.parametrize(
    "text",
    [
        'x = "what is told"',
        "# it is told",
        "def was_told(): ...",
        "class ToldEvent: ...",
        "hostTold = 1",
        '"""Report what was told."""',
        'TOLD = "x"',
    ],
)
def test_a_banned_word_is_found_wherever_it_is(text: str) -> None:
    """Names, strings, comments and docstrings are read alike, in every spelling."""
    assert [word.lower() for word in found(text)] == [BANNED]


@pytest.mark.parametrize(
    "text",
    ["position = file.tell()", "# a stand-in library", "# a standard", "# this port speaks TLS", "# there is no host"],
)
def test_usual_phrases_may_occur(text: str) -> None:
    """A word that is banned for one meaning is not banned in others."""
    assert found(text) == []


def test_a_silence_is_a_muted_notification() -> None:
    """The word is allowed in the code of notifications, and nowhere else."""
    text = "silence = 1"
    assert found(text) == ["silence"]
    assert found(text, "collector/flyball_collector/notify/silences.py") == []


@pytest.mark.parametrize("opening", ["Whether it is.", "What it is.", "How often."])
def test_a_docstring_does_not_begin_with_a_question(opening: str) -> None:
    """Docstrings begin with a verb; other strings may begin as they like."""
    assert len(found(f'def f():\n    """{opening}"""\n')) == 1
    assert found(f'x = """{opening}"""\n') == []
    assert found(f"{opening}\n", "docs/page.md") == []


def test_every_pattern_is_a_pattern_that_can_match() -> None:
    """A list of words that finds nothing would keep nothing."""
    samples = (
        "told said stands lately silent silence unavailable not read handed anew a turn doubt bounded by plain shares "
        "apart seldom mended dear thereby it is no number nobody knows whoever in peace"
    )
    unmatched = [word.pattern for word in WORDS if not any(word.matches(samples))]
    assert unmatched == []


def test_a_hit_names_its_place_and_what_to_write() -> None:
    """As compilers write it, so that editors find the place."""
    assert str(Hit("a.py", 3, "told", "report")) == "a.py:3: 'told': write report"
    assert words_of("isTold_again") == "is Told again"


def test_files_of_every_kind_are_read_but_for_those_left_out() -> None:
    """Python, Markdown, JavaScript and the rest of what people read; not what others wrote."""
    listed = set(files([]))
    assert {Path(name).suffix for name in listed} >= {".py", ".md", ".js", ".proto", ".toml", ".yml"}
    assert not [name for name in listed if name.startswith(LEFT_OUT)]
    assert (ROOT / "README.md").is_file()
    assert "README.md" in listed
