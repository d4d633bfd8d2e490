"""What each metric name means: one declaration a name, whatever agents of other versions say."""

from collections.abc import Iterable
from dataclasses import dataclass

from flyball_collector.exporter.escape import help_text
from flyball_collector.exporter.negotiation import Format
from flyball_proto.metric import Kind, Metric

PREFIX = "flyball_"
OWN_PREFIX = "flyball_collector_"


def sample_name(metric: Metric) -> str:
    """The name that a metric's samples carry; counters end in `_total`."""
    if metric.kind is Kind.COUNTER and not metric.name.endswith("_total"):
        return f"{PREFIX}{metric.name}_total"
    return PREFIX + metric.name


@dataclass(frozen=True, slots=True)
class Declaration:
    """What must agree for two series to stand under one name."""

    name: str
    kind: Kind
    unit: str
    states: tuple[str, ...]

    @classmethod
    def of(cls, metric: Metric) -> "Declaration":
        return cls(sample_name(metric), metric.kind, metric.unit, metric.states)

    @property
    def claims(self) -> tuple[str, ...]:
        """Every name that this one needs for itself; a counter's family in OpenMetrics has no `_total`."""
        if self.kind is not Kind.COUNTER:
            return (self.name,)
        stem = self.name.removesuffix("_total")
        return (self.name, stem, f"{stem}_created")

    def agrees_with(self, other: "Declaration") -> bool:
        """Equal, but for states that one of the two has not heard of."""
        common = min(len(self.states), len(other.states))
        return (self.name, self.kind, self.unit, self.states[:common]) == (
            other.name,
            other.kind,
            other.unit,
            other.states[:common],
        )


class Catalogue:
    """The declarations in force. The first one of a name holds for as long as any host uses it."""

    def __init__(self, reserved: Iterable[Declaration] = ()) -> None:
        self._reserved = tuple(reserved)
        self._in_force: dict[str, Declaration] = {}

    def admit(self, declarations: Iterable[Declaration]) -> set[Declaration]:
        """Which of the declarations now in use may be shown: those in force first, then as they come."""
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


def header(name: str, kind: Kind, text: str, states: tuple[str, ...], format_: Format) -> bytes:
    """HELP and TYPE of a family, each on a line that is opened but not closed."""
    meanings = ", ".join(f"{code} {word}" for code, word in enumerate(states))
    if meanings:
        text = f"{text} States: {meanings}."
    openmetrics = format_ is Format.OPENMETRICS
    family = name.removesuffix("_total") if openmetrics and kind is Kind.COUNTER else name
    word = "counter" if kind is Kind.COUNTER else "gauge"
    shown = help_text(text, quotes=openmetrics) or "No help was given."
    return f"\n# HELP {family} {shown}\n# TYPE {family} {word}".encode()
