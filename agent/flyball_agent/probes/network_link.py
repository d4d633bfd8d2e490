"""Speed and carrier of each network interface, and the links of bonds, from sysfs."""

from dataclasses import dataclass
from pathlib import Path

from flyball_agent.probes import bonding
from flyball_agent.probes.columns import Gaps, GroupedColumns
from flyball_agent.probes.devices import Devices
from flyball_agent.probes.files import KernelFile, count, entries
from flyball_agent.probes.network import is_watched
from flyball_agent.probes.probe import Absent, ProbeSample, Unavailable, Value
from flyball_proto.metric import counter, gauge, state
from flyball_proto.unavailable_reading import Reason

_LABEL = ("interface",)
BYTES_PER_MEGABIT = 125_000
FASTEST = 100_000_000  # Mbit/s; no interface reaches 100 Tbit/s

METRICS = (
    gauge("network_speed_bytes_per_second", "bytes/s", "Capacity of the link in each direction.", _LABEL),
    state("network_carrier", "State of the link.", ("down", "up"), _LABEL),
    counter("network_carrier_changes_total", "changes", "Times that the link went up or down.", _LABEL),
)


@dataclass(frozen=True, slots=True)
class LinkFiles:
    """The open files of one interface."""

    speed: KernelFile
    carrier: KernelFile
    changes: KernelFile

    def values(self) -> list[Value]:
        speed, carrier = _number(self.speed), _number(self.carrier)
        known = speed is not None and 0 < speed < FASTEST  # unknown is -1, or 2**32 - 1 from old drivers
        return [
            speed * BYTES_PER_MEGABIT if speed is not None and known else None,
            carrier if carrier in {0, 1} else None,
            _number(self.changes),
        ]


def _number(file: KernelFile) -> int | None:
    try:
        return count(file.read())
    except Unavailable:
        return None


class NetworkLinkProbe:
    """Reads all interfaces.

    It is blocking and runs rarely: reading takes a kernel lock that a broken interface may hold for long.
    """

    name = "network_link"
    metrics = (*METRICS, *bonding.METRICS)
    every_seconds = 10.0
    blocking = True

    def __init__(self, sys_root: Path) -> None:
        net = sys_root / "class/net"
        self._net = net
        self._columns = GroupedColumns(METRICS, bonding.METRICS)
        self._gaps = Gaps(
            self.name,
            "the link is down or virtual, or its driver does not provide it",
            Reason.UNSUPPORTED,
            details={"network_bond_links_up": "the state of one of its links cannot be read"},
        )
        self._links: Devices[LinkFiles] = Devices(
            lambda: [name for name in entries(net) if is_watched(name) and (net / name).is_dir()],
            lambda name: LinkFiles(
                KernelFile(net / name / "speed", size=64),
                KernelFile(net / name / "carrier", size=64),
                KernelFile(net / name / "carrier_changes", size=64),
            ),
            every=1,
        )

    def read(self) -> ProbeSample:
        links = self._links.current()
        if not links:
            raise Absent("no network interface except loopback")
        bonds = [name for name in links if bonding.is_bond(self._net / name)]
        columns = self._columns.columns([(name,) for name in links], [(name,) for name in bonds])
        values = [value for link in links.values() for value in link.values()]
        for name in bonds:
            values += bonding.bond_values(self._net, name)
        return ProbeSample(columns, values, self._gaps.unavailable(columns, values))
