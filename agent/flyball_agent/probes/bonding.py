"""Bonds, each of which joins several network links into one interface, from sysfs."""

from pathlib import Path

from flyball_agent.probes.files import read_text
from flyball_agent.probes.probe import Value
from flyball_proto.metric import gauge

_LABEL = ("interface",)

METRICS = (
    gauge("network_bond_links", "links", "Network links that the bond consists of.", _LABEL),
    gauge(
        "network_bond_links_up",
        "links",
        "Links of the bond that are up. Fewer than flyball_network_bond_links: the bond has lost capacity.",
        _LABEL,
    ),
)


def is_bond(interface: Path) -> bool:
    """Return True for a bond."""
    return (interface / "bonding/slaves").exists()


def bond_values(net: Path, name: str) -> list[Value]:
    """Return the values of `METRICS` for one bond."""
    names = read_text(net / name / "bonding/slaves")
    if names is None:
        return [None, None]
    links = names.split()
    states = [link_is_up(net / link) for link in links]
    return [len(links), None if None in states else sum(state is True for state in states)]


def link_is_up(interface: Path) -> bool | None:
    """Return True if the bond uses the link. The bond's monitor (MII, ARP) detects more faults than the carrier."""
    state = read_text(interface / "bonding_slave/mii_status") or read_text(interface / "operstate")
    return None if not state else state == "up"
