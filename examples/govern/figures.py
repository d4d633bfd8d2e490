"""Prints a demonstration: adjustments with their measured effects, and figures with what they must reach."""

import argparse
import json
import signal
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from examples.govern.daemons import DemonstrationFailed


@dataclass(frozen=True, slots=True)
class Shown:
    """One figure. `reached` is None if nothing is promised."""

    name: str
    value: str
    to_reach: str = ""
    reached: bool | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a demonstration."""

    adjustments: Sequence[Any]
    figures: Sequence[Shown]

    @property
    def ok(self) -> bool:
        """Return True if every promise was kept."""
        return all(figure.reached is not False for figure in self.figures)


def demonstrate(title: str, run: Callable[[], Result], *, as_json: bool) -> None:
    """Run a demonstration, print its result, and end with status 1 if a promise was not kept."""
    if not as_json:
        print(title, flush=True)
    started = time.monotonic()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that its processes are stopped
    try:
        result = run()
    except DemonstrationFailed as error:
        sys.exit(f"the demonstration failed: {error}")
    if as_json:
        figures = [asdict(figure) for figure in result.figures]
        print(json.dumps({"adjustments": result.adjustments, "figures": figures}))
    else:
        _print(result, time.monotonic() - started)
    if not result.ok:
        sys.exit(1)


def _print(result: Result, seconds: float) -> None:
    print()
    for each in result.adjustments:
        print("  " + line(each))
    print()
    width = max(len(figure.name) for figure in result.figures)
    for figure in result.figures:
        verdict = {True: "reached", False: "NOT REACHED", None: ""}[figure.reached]
        print(f"  {figure.name:{width}}  {figure.value:>24}  {figure.to_reach:18} {verdict}".rstrip())
    print(f"\nTook {seconds:.0f} s.")


def line(adjustment: Any) -> str:
    """Return one adjustment in a line: what, why, and what it brought."""
    change = f"{adjustment['name']} {_text(adjustment['value_from'])} → {_text(adjustment['value_to'])}"
    effect = adjustment.get("effect")
    gain = (
        "" if not effect else f", speed ×{effect['gain']:.2f} ({effect['gain_low']:.2f} to {effect['gain_high']:.2f})"
    )
    why = adjustment.get("because") or adjustment.get("rule") or "a person asked for it"
    return f"{change}: {adjustment['state'].replace('_', ' ')}{gain} · {why}"


def _text(value: object) -> str:
    """Return a value as `flyball adjust` prints it."""
    return ("on" if value else "off") if isinstance(value, bool) else json.dumps(value)


def parser(description: str | None) -> argparse.ArgumentParser:
    """Return a parser with the options that all demonstrations have."""
    found = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    found.add_argument("--json", action="store_true", help="print the result as JSON")
    return found
