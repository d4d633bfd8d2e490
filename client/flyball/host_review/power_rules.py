"""Rules about power and heat: battery, supply, and the extreme configuration."""

from collections.abc import Iterator

from flyball.host_review.host_finding import HostFinding, HostSituation, warning
from flyball.host_review.power_budget import TIGHT_SHARE
from flyball_planner.configurations.bounds import EXTREME
from flyball_reports.figures import percent


def on_battery(situation: HostSituation) -> Iterator[HostFinding]:
    """Find a machine that runs on its battery."""
    power = situation.profile.power
    if power.source == "battery":
        left = f" ({power.battery_percent:.0f} % left)" if power.battery_percent is not None else ""
        yield warning(
            "battery", 3, f"The machine runs on battery{left}",
            "processors and GPUs lower their power limits on battery, and a training ends with the charge",
            "Connect the supply, and measure again",
        )  # fmt: skip


def tight_supply(situation: HostSituation) -> Iterator[HostFinding]:
    """Find a supply without a reserve for the power of all parts."""
    power = situation.power
    if power.headroom_share is None or power.headroom_watts is None or power.supply_watts is None:
        return
    if power.headroom_share >= TIGHT_SHARE:
        return
    parts = " + ".join(f"{each.name} {each.watts:.0f} W" for each in power.parts)
    over = power.headroom_watts < 0
    yield warning(
        "supply", 3 if over else 2,
        f"The supply of {power.supply_watts:.0f} W has "
        + ("too little power for full load" if over else f"a reserve of only {percent(power.headroom_share)}"),
        f"{parts} = {power.watts:.0f} W; short peaks of GPUs are higher, and switch the supply off",
        f"Use a supply of {power.supply_needed_watts:.0f} W, or lower the power limit of the GPUs",
    )  # fmt: skip


def no_redundancy(situation: HostSituation) -> Iterator[HostFinding]:
    """Find several supplies of which none may fail under full load."""
    power, supplies = situation.power, situation.profile.power.supplies
    if (
        not supplies
        or supplies < 2
        or power.supply_watts is None
        or power.watts is None
        or power.headroom_watts is None
    ):
        return
    without_one = power.supply_watts * (supplies - 1) / supplies
    if without_one < power.watts and power.headroom_watts >= 0:
        yield warning(
            "supply-redundancy", 1, f"All {supplies} supplies are needed under full load",
            f"{supplies - 1} of them deliver {without_one:.0f} W, and the machine draws up to {power.watts:.0f} W",
            "Lower the power limits of the GPUs if the machine must survive the failure of a supply",
        )  # fmt: skip


def hot_in_extreme(situation: HostSituation) -> Iterator[HostFinding]:
    """Find a cooling risk for the extreme configuration, which uses nearly the full power for hours."""
    cooling = situation.cooling
    if cooling.level in {None, "low"}:
        return
    extreme = next((each for each in situation.configurations if each.name == EXTREME.name), None)
    watts = extreme.expected.power_watts if extreme else None
    draws = f" with {watts:.0f} W for each device" if watts else ""
    yield warning(
        "extreme-heat", 3 if cooling.level == "high" else 2,
        f"The extreme configuration may slow down by heat (cooling risk {cooling.level})",
        f"{'; '.join(cooling.because)}; that configuration computes for hours{draws}",
        "Start with the balanced configuration, and watch the temperature: `flyball up`",
    )  # fmt: skip


RULES = (on_battery, tight_supply, no_redundancy, hot_in_extreme)
