"""Where words stand on a drawing, so that none covers another."""

from collections.abc import Sequence

from flyball_reports.svg import RIGHT

LETTER, LINE = 10.0, 21.0  # how wide and high letters and lines are at most: on a narrow page they are larger

Box = tuple[float, float, float, float]  # left, top, right, bottom


def below(at: tuple[float, float], distance: float, words: str) -> Box:
    """Centred so far below a place, and within the drawing."""
    width = LETTER * len(words)
    left, top = min(at[0] - width / 2, RIGHT - width), at[1] + distance
    return (left, top, left + width, top + LINE)


def beside(at: tuple[float, float], distance: float, words: str, *, lower: float = 0.0) -> Box:
    """So far right of a place, or left of it where the drawing ends; `lower` by so much."""
    width = LETTER * len(words)
    left = at[0] + distance if at[0] + distance + width <= RIGHT else at[0] - distance - width
    top = at[1] - LINE / 2 + lower
    return (left, top, left + width, top + LINE)


def free(box: Box, taken: Sequence[Box]) -> Box:
    """The same further down, as far as others stand there."""
    left, top, right, _ = box
    for other in sorted(taken, key=lambda each: each[1]):
        if left < other[2] and other[0] < right and top < other[3] and other[1] < top + LINE:
            top = other[3]
    return (left, top, right, top + LINE)
