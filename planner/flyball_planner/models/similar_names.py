"""Suggestions for a model's name that does not exist."""

import re
from collections.abc import Iterable
from difflib import SequenceMatcher

from flyball_reports.errors import MOST_NAMES, nearest

MISSPELT, CLOSE = 0.8, 0.9
"""Shares of equal letters. Below the first it is another model: whisper-large is not mistral-large. From the second on
one letter is wrong."""
KIN = {
    "ridge": "linear_regression", "lasso": "linear_regression", "ols": "linear_regression",
    "elasticnet": "linear_regression", "svc": "svm", "svr": "svm", "cart": "decision_tree",
}  # fmt: skip
"""Algorithms that a family of the planner covers."""
OTHERWISE = (
    "describe a transformer by its dimensions (shape:) or its config.json (huggingface:), "
    "any torch module by flyball_planner.trace.trace_module"
)


def model_question(name: str, known: Iterable[str]) -> str:
    """Return a question with the models of the same family, nearest first, or with a misspelt one; else what to do."""
    names = tuple(dict.fromkeys(known))
    typed = nearest(name, names, least=CLOSE) or next((each for each in names if sorted(each) == sorted(name)), None)
    if typed:
        return f"did you mean {typed!r}?"
    family = _family(KIN.get(_family(name), name))
    same = [each for each in names if family and _family(each) == family]
    if not same:
        near = nearest(name, names, least=MISSPELT)
        return f"did you mean {near!r}?" if near else OTHERWISE
    found = sorted(same, key=lambda each: -SequenceMatcher(None, name.casefold(), each).ratio())[:MOST_NAMES]
    if len(found) == 1:
        return f"did you mean {found[0]!r}?"
    return f"did you mean one of {', '.join(found)}{' …' if len(same) > len(found) else ''}?"


def _family(name: str) -> str:
    """Return the letters that a name begins with, without its owner."""
    found = re.match(r"[a-z]{2,}", name.rsplit("/", 1)[-1].strip().casefold())
    return found.group() if found else ""
