"""Conditions that mute the notifications of others, as in the example configuration of Alertmanager."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from flyball_collector.timeline.entry import Entry

Key = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Inhibition:
    """While a condition of a kind in `sources` is active and critical, those in `targets` with equal fields are mute.

    Without `targets`, all others are. A run that hangs or a host that is lost is critical by its kind.
    """

    sources: frozenset[str]
    targets: frozenset[str]
    equal: tuple[str, ...]

    def key(self, entry: Entry) -> Key:
        """Return the fields that both must share."""
        return tuple(getattr(entry, name) for name in self.equal)

    def applies_to(self, entry: Entry) -> bool:
        """Return True if the entry's kind can be muted by this inhibition."""
        return entry.kind not in self.sources and (not self.targets or entry.kind in self.targets)


INHIBITIONS = (
    Inhibition(frozenset({"host_lost"}), frozenset(), ("host",)),
    Inhibition(frozenset({"thermal_slowdown"}), frozenset({"cooling_outlier", "power_capped"}), ("host", "gpu")),
    Inhibition(
        frozenset({"gpu_lost", "gpu_xid"}),
        frozenset({"stuck_telemetry", "nvlink_down", "pcie_degraded"}),
        ("host", "gpu"),
    ),
    Inhibition(frozenset({"run_hang"}), frozenset({"straggler", "fail_slow", "run_slow"}), ("run",)),
)


class Inhibited:
    """The notifications that the active conditions of one moment mute."""

    def __init__(self, active: Iterable[Entry], inhibitions: tuple[Inhibition, ...] = INHIBITIONS) -> None:
        critical = [entry for entry in active if entry.severity == "critical"]
        self._keys: Mapping[Inhibition, set[Key]] = {
            each: {each.key(entry) for entry in critical if entry.kind in each.sources} for each in inhibitions
        }

    def mutes(self, entry: Entry) -> bool:
        """Return True if an active condition mutes the entry. Without a value in the equal fields, none does."""
        return any(
            each.applies_to(entry) and key in keys and any(key)
            for each, keys in self._keys.items()
            if keys and (key := each.key(entry))
        )
