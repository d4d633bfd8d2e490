"""Text from hosts as data: escaped, and rid of what no reader of metrics can take."""

import re
from collections.abc import Iterable, Sequence

# Control characters end the token of some readers (Prometheus takes NUL as the end of the input); a lone surrogate has
# no UTF-8. Tabs and line feeds can be carried.
_UNFIT = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
_SPECIAL = re.compile(r'[\\"\n\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]')
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"

RESERVED_LABELS = frozenset({"instance", "job"})
"""The exporter's and the scrape's own: a host's label of that name would override them under `honor_labels`."""


def label_value(text: str) -> str:
    """A label value as it stands between the quotes."""
    if _SPECIAL.search(text) is None:
        return text
    return _UNFIT.sub(_REPLACEMENT, text).replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def help_text(text: str, *, quotes: bool) -> str:
    """A help line on one line; OpenMetrics wants its quotes escaped, text 0.0.4 must not have them so."""
    escaped = " ".join(_UNFIT.sub(_REPLACEMENT, text).split()).replace("\\", r"\\")
    return escaped.replace('"', r"\"") if quotes else escaped


def label_names(names: Sequence[str]) -> tuple[str, ...]:
    """Names that are free: a reserved or repeated one gets `exported_` before it, as Prometheus itself would do."""
    result: list[str] = []
    for name in names:
        free = name
        while free in RESERVED_LABELS or free in result:
            free = f"exported_{free}"
        result.append(free)
    return tuple(result)


def labels_text(pairs: Iterable[tuple[str, str]]) -> str:
    """`a="1",b="2"`; an empty value means that the label is absent."""
    return ",".join(f'{name}="{label_value(value)}"' for name, value in pairs if value)


def joined(*texts: str) -> str:
    """Texts of labels as one; empty ones say nothing."""
    return ",".join(filter(None, texts))
