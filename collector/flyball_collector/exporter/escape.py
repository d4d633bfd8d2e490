"""Escapes text from hosts, and replaces characters that readers of metrics do not accept."""

import re
from collections.abc import Iterable, Sequence

# Control characters end the token of some readers (Prometheus takes NUL as the end of the input), and a lone surrogate
# has no UTF-8 encoding. Tabs and line feeds are allowed.
_UNFIT = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
_SPECIAL = re.compile(r'[\\"\n\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]')
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"

RESERVED_LABELS = frozenset({"instance", "job"})
"""Labels of the exporter and the scrape. With `honor_labels` a host's label of that name would override them."""


def label_value(text: str) -> str:
    """Return a label value for use between quotes."""
    if _SPECIAL.search(text) is None:
        return text
    return _UNFIT.sub(_REPLACEMENT, text).replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def help_text(text: str, *, quotes: bool) -> str:
    """Return a help text on one line. OpenMetrics requires escaped quotes; text 0.0.4 does not allow them."""
    escaped = " ".join(_UNFIT.sub(_REPLACEMENT, text).split()).replace("\\", r"\\")
    return escaped.replace('"', r"\"") if quotes else escaped


def label_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names with `exported_` before reserved and repeated ones, as Prometheus does."""
    result: list[str] = []
    for name in names:
        free = name
        while free in RESERVED_LABELS or free in result:
            free = f"exported_{free}"
        result.append(free)
    return tuple(result)


def labels_text(pairs: Iterable[tuple[str, str]]) -> str:
    """Return `a="1",b="2"` without empty values, which mean that the label is absent."""
    return ",".join(f'{name}="{label_value(value)}"' for name, value in pairs if value)


def joined(*texts: str) -> str:
    """Join texts of labels, without empty ones."""
    return ",".join(filter(None, texts))
