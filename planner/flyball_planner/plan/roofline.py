"""The roofline of a device (Williams et al., 2009) with a model's operators, and the bottleneck of a step."""

from collections.abc import Iterable, Mapping

from msgspec import Struct

from flyball_planner.models.cost import ModelCost, Operator
from flyball_planner.models.transformer.cost import transformer_cost
from flyball_planner.models.transformer.shape import TransformerShape
from flyball_planner.plan.plan import RooflinePoint

NETWORK_NUMBER_BYTES = 2.0  # operators count a network's numbers at two bytes
MOST_POINTS = 24
EXCHANGES = ("tensor", "expert", "context", "transfer", "data")  # parts of a step that are communication
OVERHEADS = ("launch", "fixed")  # kernel launches, and Python between them
WAITS = {"overhead-bound": OVERHEADS, "pipeline-bound": ("bubble",)}
WAITING = "waiting_for_data"
NOTICED = 0.03  # share of a step; if devices wait for data, a faster device only waits longer
DECISIVE = 1 / 3  # share of a step from which anything but the operators is the bottleneck


class Roof(Struct, frozen=True):
    """The limits of a device."""

    flops_per_second: float
    bytes_per_second: float

    @property
    def ridge(self) -> float:
        """Return the FLOP per byte above which arithmetic is the limit."""
        return self.flops_per_second / self.bytes_per_second

    def attainable(self, intensity: float) -> float:
        """Return the FLOP/s at an arithmetic intensity."""
        return min(self.flops_per_second, intensity * self.bytes_per_second)


class Roofline(Struct, frozen=True):
    """All operators of a step's forward pass, and their total."""

    points: tuple[RooflinePoint, ...]
    intensity: float
    memory_bound_share: float  # share of the operators' time


def roofline(
    subject: TransformerShape | ModelCost, sequence: int, samples: float, width_bytes: float, roof: Roof
) -> Roofline:
    """Return the roofline of a micro-batch, whose numbers have the given width."""
    cost = transformer_cost(subject, sequence, causal=True) if isinstance(subject, TransformerShape) else subject
    scale = width_bytes / NETWORK_NUMBER_BYTES if cost.trained_by_gradient else 1.0
    found: dict[str, _Sum] = {}
    for block in cost.blocks:
        for operator in block.operators:
            entry = found.setdefault(operator.name, _Sum(operator.name, operator.kind.value))
            times = block.repeats * operator.times
            entry.add(times * samples * operator.flops, times * scale * moved(operator, samples), roof)
    total = sum(each.seconds for each in found.values()) or 1.0
    points = [each.point(total) for each in sorted(found.values(), key=lambda each: -each.seconds)]
    flops, moved_bytes = (sum(getattr(each, name) for each in found.values()) for name in ("flops", "moved_bytes"))
    bound = sum(each.seconds for each in found.values() if each.intensity < roof.ridge) / total
    return Roofline(tuple(points[:MOST_POINTS]), flops / moved_bytes if moved_bytes else 0.0, bound)


def moved(operator: Operator, samples: float) -> float:
    """Return the bytes moved for a micro-batch; the right-hand side of a product is read only once."""
    if not (operator.rows and operator.inner and operator.columns):
        return samples * operator.moved_bytes
    right = operator.inner * operator.columns
    left = operator.rows * (operator.inner + operator.columns)
    return operator.moved_bytes * (samples * left + right) / (left + right)


def bottleneck(parts: Mapping[str, float], memory_bound_share: float) -> str:
    """Return the bottleneck: data, communication, overhead, pipeline, memory or arithmetic."""
    total = sum(parts.values())
    if total > 0:
        if _share(parts, (WAITING,), total) > NOTICED:
            return "data-bound"
        if _share(parts, EXCHANGES, total) > DECISIVE:
            return "communication-bound"
        for word, names in WAITS.items():
            if _share(parts, names, total) > DECISIVE:
                return word
    return "memory-bound" if memory_bound_share > 0.5 else "compute-bound"


def _share(parts: Mapping[str, float], names: Iterable[str], total: float) -> float:
    return sum(parts.get(name, 0.0) for name in names) / total


class _Sum(Struct):
    """The sum of operators with one name."""

    name: str
    kind: str
    flops: float = 0.0
    moved_bytes: float = 0.0
    seconds: float = 0.0

    def add(self, flops: float, moved_bytes: float, roof: Roof) -> None:
        self.flops += flops
        self.moved_bytes += moved_bytes
        self.seconds += max(flops / roof.flops_per_second, moved_bytes / roof.bytes_per_second)

    @property
    def intensity(self) -> float:
        return self.flops / self.moved_bytes if self.moved_bytes else 0.0

    def point(self, total: float) -> RooflinePoint:
        speed = self.flops / self.seconds if self.seconds else 0.0
        return RooflinePoint(self.name, self.kind, self.intensity, speed, self.seconds / total)
