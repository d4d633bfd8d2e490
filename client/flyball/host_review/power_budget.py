"""The power of a host under full load, and the reserve of its supply."""

import re

from msgspec import Struct

from flyball.host.hardware_parts import HostTier
from flyball.host.hardware_profile import HardwareProfile

DESKTOP_REST_WATTS = 75.0
"""Board, memory, disks and fans of a desktop. With it and the reserve below, a desktop with a 125 W processor needs
688 W for an RTX 3090 (350 W) and 813 W for an RTX 4090 (450 W); NVIDIA asks for 750 W and 850 W with these cards."""

LAPTOP_REST_WATTS = 15.0  # display, memory and disk
SERVER_REST_WATTS = 150.0  # fans, memory and network cards of a server without GPUs, a cautious assumption

NODE_REST_SHARE = 0.6
"""What fans, switches and network cards of a node with eight GPUs add. Data sheets: DGX H100 draws at most 10.2 kW, its
GPUs and processors 6.3 kW; DGX A100 at most 6.5 kW, its GPUs and processors 3.65 kW (a share of 0.78)."""

_SERVER_CARD = re.compile(r"\bSXM|\bOAM\b|\bB[12]00\b|\bG[BH]\d00\b|Instinct MI[23]\d\d[AX]|Gaudi")
MANY_GPUS = 4  # from here on a server is built like such a node
RESERVE_SHARE = 0.2
"""The share of a supply that should stay free: cards exceed their limit for milliseconds, and supplies age."""

TIGHT_SHARE = 0.15  # below it, a reserve is worth a warning; 850 W for an RTX 4090 is what NVIDIA asks for


class PowerPart(Struct, frozen=True):
    """The highest sustained power of one part."""

    name: str
    watts: float
    source: str


class PowerBudget(Struct, frozen=True):
    """The power of all parts together, and the supply."""

    parts: tuple[PowerPart, ...]
    watts: float | None  # None: a large part is unknown
    unknown: tuple[str, ...]
    supply_watts: float | None
    headroom_watts: float | None
    headroom_share: float | None  # of the supply
    supply_needed_watts: float | None  # with the reserve
    because: str  # why the supply is unknown


def power_budget(profile: HardwareProfile) -> PowerBudget:
    """Return the power of a host whose GPUs and processors work at their limits."""
    known, unknown = _known_parts(profile)
    rest = _rest(profile, sum(each.watts for each in known))
    parts = (*known, PowerPart("rest of the machine", rest, "assumption")) if known else ()
    total = sum(each.watts for each in parts) if parts and not unknown else None
    supply = profile.power.supply_watts
    free = supply - total if supply is not None and total is not None else None
    return PowerBudget(
        parts=parts,
        watts=total,
        unknown=unknown,
        supply_watts=supply,
        headroom_watts=free,
        headroom_share=free / supply if free is not None and supply else None,
        supply_needed_watts=total / (1 - RESERVE_SHARE) if total is not None else None,
        because="" if supply is not None else profile.unavailable.get("power.supply_watts", ""),
    )


def _known_parts(profile: HardwareProfile) -> tuple[tuple[PowerPart, ...], tuple[str, ...]]:
    """Return the parts whose power is known, and the names of those whose power is not."""
    parts, unknown = [], []
    if profile.processor.tdp_watts:
        name = f"{profile.processor.sockets} processors" if (profile.processor.sockets or 1) > 1 else "processor"
        source = {"rapl": "its own limit"}.get(profile.processor.tdp_source or "", "catalogue, an estimate")
        parts.append(PowerPart(name, profile.processor.tdp_watts, source))
    else:
        unknown.append("processor")
    limits = [each.power_limit_watts or each.tdp_watts for each in profile.gpus]
    if profile.gpus and all(limits):
        own = all(each.power_limit_watts or each.tdp_source == "driver" for each in profile.gpus)
        name = f"{len(limits)} GPUs" if len(limits) > 1 else "GPU"
        source = "power limit" if own else "catalogue, an estimate"
        parts.append(PowerPart(name, sum(filter(None, limits)), source))
    elif profile.gpus:
        unknown.append("GPUs")
    return tuple(parts), tuple(unknown)


def is_portable(profile: HardwareProfile) -> bool:
    """Return True for a machine with a battery."""
    return profile.power.source == "battery" or profile.power.battery_percent is not None


def is_server(profile: HardwareProfile) -> bool:
    """Return True for a server, also where its cores are unknown: some cards are only built into servers."""
    names = (each.catalogue_name or each.model or "" for each in profile.gpus)
    return profile.tier is HostTier.SERVER or any(_SERVER_CARD.search(name) for name in names)


def _rest(profile: HardwareProfile, known_watts: float) -> float:
    if is_portable(profile):
        return LAPTOP_REST_WATTS
    if not is_server(profile):
        return DESKTOP_REST_WATTS
    return NODE_REST_SHARE * known_watts if len(profile.gpus) >= MANY_GPUS else SERVER_REST_WATTS
