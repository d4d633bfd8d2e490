"""One declaration for each metric name, even if agents of different versions disagree."""

from collections.abc import Iterable
from dataclasses import dataclass

from flyball_collector.exporter.escape import help_text
from flyball_collector.exporter.negotiation import ExpositionFormat
from flyball_proto.metric import Kind, Metric

PREFIX = "flyball_"
OWN_PREFIX = "flyball_collector_"


def sample_name(metric: Metric) -> str:
    """Return the name of a metric's samples. Counters end in `_total`."""
    if metric.kind is Kind.COUNTER and not metric.name.endswith("_total"):
        return f"{PREFIX}{metric.name}_total"
    return PREFIX + metric.name


@dataclass(frozen=True, slots=True)
class Declaration:
    """The properties that two series under one name must share."""

    name: str
    kind: Kind
    unit: str
    states: tuple[str, ...]

    @classmethod
    def of(cls, metric: Metric) -> "Declaration":
        return cls(sample_name(metric), metric.kind, metric.unit, metric.states)

    @property
    def claims(self) -> tuple[str, ...]:
        """Return every name that a metric occupies. In OpenMetrics a counter's family has no `_total`."""
        if self.kind is not Kind.COUNTER:
            return (self.name,)
        stem = self.name.removesuffix("_total")
        return (self.name, stem, f"{stem}_created")

    def agrees_with(self, other: "Declaration") -> bool:
        """Return True if they are equal, except for states that only one of them has."""
        common = min(len(self.states), len(other.states))
        return (self.name, self.kind, self.unit, self.states[:common]) == (
            other.name,
            other.kind,
            other.unit,
            other.states[:common],
        )


class Catalogue:
    """The declarations in use. The first one of a name stays as long as a host uses it."""

    def __init__(self, reserved: Iterable[Declaration] = ()) -> None:
        self._reserved = tuple(reserved)
        self._in_force: dict[str, Declaration] = {}

    def admit(self, declarations: Iterable[Declaration]) -> set[Declaration]:
        """Return those of the given declarations that may be shown. Declarations in use come first, then in order."""
        used = list(dict.fromkeys(declarations))
        by_name: dict[str, Declaration] = {claim: d for d in self._reserved for claim in d.claims}
        kept = [d for d in self._in_force.values() if any(d.agrees_with(other) for other in used)]
        self._in_force = {}
        admitted: set[Declaration] = set()
        for declaration in [*kept, *used]:
            first = self._in_force.get(declaration.name)
            if first is not None:
                if first.agrees_with(declaration):
                    admitted.add(declaration)
            elif not declaration.name.startswith(OWN_PREFIX) and not any(c in by_name for c in declaration.claims):
                by_name.update(dict.fromkeys(declaration.claims, declaration))
                self._in_force[declaration.name] = declaration
                admitted.add(declaration)
        return admitted.intersection(used)


def header(name: str, kind: Kind, text: str, states: tuple[str, ...], format_: ExpositionFormat) -> bytes:
    """Return HELP and TYPE of a family. The first line begins with a line feed, and the last has none."""
    meanings = ", ".join(f"{code} {word}" for code, word in enumerate(states))
    if meanings:
        text = f"{text} States: {meanings}."
    openmetrics = format_ is ExpositionFormat.OPENMETRICS
    family = name.removesuffix("_total") if openmetrics and kind is Kind.COUNTER else name
    word = "counter" if kind is Kind.COUNTER else "gauge"
    shown = help_text(text, quotes=openmetrics) or "No help."
    return f"\n# HELP {family} {shown}\n# TYPE {family} {word}".encode()
