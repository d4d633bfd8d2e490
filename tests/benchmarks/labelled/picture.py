"""Draw the calibration curve as SVG."""

from collections.abc import Sequence

from tests.benchmarks.labelled.score import Bin

SIZE = 420
LEFT, TOP, PLOT = 60, 40, 320


def calibration_svg(bins: Sequence[Bin], title: str) -> str:
    """Draw the share of correct reports against their confidence. Bars are Wilson's bounds, areas the counts."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {SIZE} {SIZE}" width="{SIZE}" height="{SIZE}">',
        '<g font-family="sans-serif" font-size="12" fill="none" stroke-width="1">',
        f"<title>{title}</title>",
        f'<rect width="{SIZE}" height="{SIZE}" fill="#ffffff"/>',
        _text(SIZE / 2, 22, title, "middle", 14),
        f'<path d="M{_x(0)} {_y(0)}L{_x(1)} {_y(1)}" stroke="#999999" stroke-dasharray="4 4"/>',
    ]
    for tick in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0):
        parts.append(f'<path d="M{_x(tick)} {_y(0)}V{_y(1)}M{_x(0)} {_y(tick)}H{_x(1)}" stroke="#eeeeee"/>')
        parts.append(_text(_x(tick), _y(0) + 18, f"{tick:.0%}", "middle"))
        parts.append(_text(_x(0) - 8, _y(tick) + 4, f"{tick:.0%}", "end"))
    for one in bins:
        low, high = one.right.bounds
        x, y = _x(one.mean_confidence), _y(one.right.value or 0.0)
        radius = 3 + min(12.0, one.right.of**0.5)
        parts.append(f'<path d="M{x:.1f} {_y(low):.1f}V{_y(high):.1f}" stroke="#1f5fa8" stroke-width="2"/>')
        parts.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="#1f5fa8" fill-opacity="0.6">'
            f"<title>{one.right.words} at {one.mean_confidence:.0%}</title></circle>"
        )
    parts.append(_text(_x(0.5), _y(0) + 38, "confidence of the report", "middle"))
    parts.append(
        f'<g transform="translate(16 {_y(0.5)}) rotate(-90)">{_text(0, 0, "share of correct reports", "middle")}</g>'
    )
    return "\n".join([*parts, "</g>", "</svg>", ""])


def _x(share: float) -> float:
    return LEFT + PLOT * share


def _y(share: float) -> float:
    return TOP + PLOT * (1 - share)


def _text(x: float, y: float, words: str, anchor: str, size: int = 12) -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}" font-size="{size}" fill="#333333">{words}</text>'
