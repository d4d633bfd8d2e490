"""Judgements as JSON for programs and as a table for people."""

import json
from collections import Counter

from msgspec import to_builtins

from flyball_planner.accuracy.result import Judgement, Miss, Result

WORST_ROWS = 25
SHARES = ("median_ape", "mean_ape", "bias", "coverage90", "width90", "baseline_ape")
HEAD = ("suite", "metric", "mode", "rows", "median", "mean", "bias", "cov90", "width90", "baseline", "rank")


def as_json(findings: Judgement, worst: int = WORST_ROWS) -> str:
    """Return results, rows that could not be judged, rows that the planner failed on, and the worst rows."""
    return json.dumps(
        {
            "results": [to_builtins(result) for result in findings.results],
            "ineligible": [to_builtins(row) for row in findings.ineligible],
            "unpredicted": [to_builtins(row) for row in findings.unpredicted],
            "worst": [to_builtins(row) for row in worst_rows(findings, worst)],
        },
        indent=1,
    )


def as_text(findings: Judgement, worst: int = WORST_ROWS) -> str:
    """Return the same as text."""
    lines = _table([HEAD, *(_cells(result) for result in findings.results)])
    lines += ["", "worst rows"]
    lines += [
        f"  {row.error:+8.1%}  {row.metric} ({row.mode})  {row.suite} {row.id}" for row in worst_rows(findings, worst)
    ]
    for title, rows in (("not eligible", findings.ineligible), ("not predicted", findings.unpredicted)):
        counted = Counter((row.file, row.suite, row.metric, row.reason) for row in rows)
        lines += ["", title]
        lines += [
            f"  {count:4} × {file} {suite} {metric}: {why}" for (file, suite, metric, why), count in counted.items()
        ]
    return "\n".join(lines)


def worst_rows(findings: Judgement, count: int = WORST_ROWS) -> list[Miss]:
    """Return the rows with the largest errors."""
    return sorted(findings.worst, key=lambda row: -abs(row.error))[:count]


def _cells(result: Result) -> tuple[str, ...]:
    shares = ["" if (value := getattr(result, name)) is None else f"{value:.1%}" for name in SHARES]
    rank = "" if result.rank_correlation is None else f"{result.rank_correlation:.2f}"
    details = " ".join(f"{name} {value:.4g}" for name, value in result.details.items())
    rows = f"{result.predicted}/{result.eligible}"
    return (result.suite, result.metric, result.mode, rows, *shares, rank, details)


def _table(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows if column < len(row)) for column in range(len(HEAD))]
    widths.append(0)
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=False)).rstrip() for row in rows]
