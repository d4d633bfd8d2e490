"""Places for labels on a drawing, so that no label covers another."""

from collections.abc import Sequence

from flyball_reports.svg import RIGHT

LETTER, LINE = 10.0, 21.0  # largest width of a letter and height of a line; letters are larger on a narrow page

Box = tuple[float, float, float, float]  # left, top, right, bottom


def box_below(at: tuple[float, float], distance: float, words: str) -> Box:
    """Return a box that is centred at a distance below a point and stays inside the drawing."""
    width = LETTER * len(words)
    left, top = min(at[0] - width / 2, RIGHT - width), at[1] + distance
    return (left, top, left + width, top + LINE)


def box_beside(at: tuple[float, float], distance: float, words: str, *, lower: float = 0.0) -> Box:
    """Return a box to the right of a point, or to its left near the drawing's edge, moved down by `lower`."""
    width = LETTER * len(words)
    left = at[0] + distance if at[0] + distance + width <= RIGHT else at[0] - distance - width
    top = at[1] - LINE / 2 + lower
    return (left, top, left + width, top + LINE)


def unoccupied(box: Box, taken: Sequence[Box]) -> Box:
    """Move a box down until it covers no other box."""
    left, top, right, _ = box
    for other in sorted(taken, key=lambda each: each[1]):
        if left < other[2] and other[0] < right and top < other[3] and other[1] < top + LINE:
            top = other[3]
    return (left, top, right, top + LINE)
