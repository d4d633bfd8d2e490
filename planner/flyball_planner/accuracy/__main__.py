"""`python -m flyball_planner.accuracy [DIR] [--format json|text]`: judge the planner by tables of measured runs."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from flyball_planner.accuracy.judges import judge_all
from flyball_planner.accuracy.report import WORST_ROWS, as_json, as_text
from flyball_planner.accuracy.tables import read_tables
from flyball_planner.accuracy.timed_rows import PUBLISHED
from flyball_reports.errors import InputError


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the accuracy; return 2 if the folder cannot be read."""
    parser = argparse.ArgumentParser(
        prog="python -m flyball_planner.accuracy", description="Compare predictions with measured runs."
    )
    parser.add_argument(
        "folder",
        type=Path,
        nargs="?",
        default=PUBLISHED,
        metavar="DIR",
        help="tables of measured runs (default: the published steps in this package, which nothing is fitted to)",
    )
    parser.add_argument("--format", choices=("text", "json"), default="text")
    parser.add_argument("--worst", type=int, default=WORST_ROWS, metavar="N", help="number of worst rows to show")
    chosen = parser.parse_args(arguments)
    try:
        findings = judge_all(read_tables(chosen.folder))
    except InputError as reason:
        print(f"error: {reason}", file=sys.stderr)
        return 2
    write = as_json if chosen.format == "json" else as_text
    print(write(findings, chosen.worst))
    return 0


if __name__ == "__main__":
    sys.exit(main())
