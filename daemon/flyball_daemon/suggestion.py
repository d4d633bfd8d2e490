"""The names that a user probably meant."""

from collections.abc import Iterable


def closest(wrong: str, known: Iterable[str], most: int = 1, cutoff: float = 0.6) -> list[str]:
    """Return the most similar known names."""
    from difflib import get_close_matches  # noqa: PLC0415  a daemon without a wrong name does not need its 0.3 MB

    return get_close_matches(wrong, list(known), n=most, cutoff=cutoff)


def did_you_mean(wrong: str, known: Iterable[str], most: int = 1, cutoff: float = 0.6) -> str:
    """Return `did you mean 'a' or 'b'?` with the most similar known names; nothing if none is similar."""
    near = closest(wrong, known, most, cutoff)
    return f"did you mean {' or '.join(map(repr, near))}?" if near else ""


def suggestion(wrong: str, known: Iterable[str], most: int = 1, cutoff: float = 0.6) -> str:
    """Return the same as the end of a message, after a semicolon."""
    question = did_you_mean(wrong, known, most, cutoff)
    return f"; {question}" if question else ""
