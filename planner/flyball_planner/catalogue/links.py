"""Links within a node and networks between nodes, in bytes per second and direction."""

import re
from collections.abc import Iterable
from functools import cache

from flyball_planner.catalogue.hardware import DeviceLink
from flyball_planner.catalogue.tables import Row, listed, table
from flyball_reports.errors import InputError, UnknownName

NETWORK_MICROSECONDS = 14.0
"""NCCL src/graph/tuning.cc, hwLat: network, ring, simple protocol."""

_PORTS = re.compile(r"(?:(\d+)\s*x\s+)?(.+?)(?:\s+(?:per|a) node)?", re.IGNORECASE)
_RATE = re.compile(
    r"(?P<rate>\d+(?:\.\d+)?)\s*(?P<thousand>[GTgt])(?P<unit>bits?|Bytes?|b|B)(?:/s|ps)?\b"
    r"(?P<each>.*\b(?:per|a|each) (?:GPU|device|card|accelerator|chip)\b)?"
)
_GIGA = {"G": 1, "T": 1000}
_INSIDE = re.compile(r"nvlink|intra-?node|pcie", re.IGNORECASE)


def link_named(name: str) -> DeviceLink:
    """Return a link by its name, such as "NVLink 4" or "PCIe 4.0 x16"."""
    row = _rows("links").get(name.casefold())
    if row is None:
        raise UnknownName("link", name, _known("links"), instead=f"known are {', '.join(_known('links'))}")
    return DeviceLink(
        row["name"], float(row["gigabytes_per_second"]) * 1e9, float(row["latency_microseconds"] or 0) * 1e-6
    )


def network_named(text: str, devices_a_node: int) -> DeviceLink:
    """Return a device's share of its node's network.

    The text is the name of a network ("InfiniBand NDR"), a number of its ports per node ("8 x InfiniBand NDR"), the
    rate of a node ("1600 Gbps") or of a device ("400 Gb/s per GPU"). Parts about links within a node are ignored.
    """
    for part in _parts(text):
        found = _ports(part, devices_a_node) or _rate(part, devices_a_node)
        if found:
            return found
    known = _known("networks")
    instead = f"known are {', '.join(known)}, ports of them ('8 x InfiniBand NDR') or a rate ('400 Gb/s per GPU')"
    raise UnknownName("network", text, known, instead=instead)


def _parts(text: str) -> Iterable[str]:
    return (part.strip() for part in re.split("[;,]", text) if part.strip() and not _INSIDE.search(part))


def _ports(part: str, devices_a_node: int) -> DeviceLink | None:
    match = _PORTS.fullmatch(re.sub(r"(?<=\d)x ", " x ", part))
    row = _rows("networks").get(match[2].casefold()) if match else None
    if match is None or row is None:
        return None
    ports = int(match[1] or 1) if row["scope"] == "port" else 1
    return _share(row["name"], ports * float(row["gigabits_per_second"]), devices_a_node)


def _rate(part: str, devices_a_node: int) -> DeviceLink | None:
    match = _RATE.search(part)
    if match is None:
        return None
    gigabits = float(match["rate"]) * _GIGA[match["thousand"].upper()] * (8 if match["unit"][0] == "B" else 1)
    return _share(part, gigabits * (devices_a_node if match["each"] else 1), devices_a_node)


def _share(name: str, gigabits: float, devices_a_node: int) -> DeviceLink:
    if not gigabits > 0:
        raise InputError(f"the rate of the network {name!r} is {gigabits} Gbit/s; it must be above 0")
    return DeviceLink(name, gigabits * 1e9 / 8 / devices_a_node, NETWORK_MICROSECONDS * 1e-6)


@cache
def _rows(name: str) -> dict[str, Row]:
    return {spelled.casefold(): row for row in table(name) for spelled in (row["name"], *listed(row, "aliases"))}


def _known(name: str) -> tuple[str, ...]:
    return tuple(row["name"] for row in table(name))
