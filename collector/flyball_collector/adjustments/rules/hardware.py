"""Heat and power: throttle first, pause only if that is not enough, and back."""

from flyball_collector.adjustments.declared.declared_values import SharedValue, number_of
from flyball_collector.adjustments.rules.rule import AdjustmentRule, RuleChange
from flyball_collector.adjustments.rules.run_case import RunCase
from flyball_collector.adjustments.rules.thresholds import BATTERY_THROTTLE, HEAT, THROTTLE_MARGIN
from flyball_collector.adjustments.situation.run_situation import RunSituation

IDLE_SHARE = 0.2
"""Power of an idle GPU as a share of its power under load, by which throttling is weighed. Data-centre GPUs draw 50 to
100 W of 400 to 700 W."""

COOL_ROOM, USUAL_ROOM, HOT_ROOM = 25.0, 33.0, 45.0
"""Temperature of the air at the GPU, up to a hot aisle. The cooler the air, the more a change of power matters at a
given temperature of the GPU. A higher throttle is chosen as for a usual room, because another step can follow; a lower
one as for a cool room."""

HEAT_SINK_SECONDS = 50.0
"""Time in which the distance to the final temperature falls to a third: about a minute for air coolers, less the age of
the measured warming. A slower heat sink is underestimated, but leaves time for another step."""

SOON_SECONDS = 30.0
"""A GPU that would reach its limit within this time at its present warming is hot. It must be well below
`HEAT_SINK_SECONDS`: then a GPU that levels off below its limit is not."""

NEXT_STEP_SECONDS, FORECAST_SECONDS = 20.0, 45.0
"""After a step, the warming must be measured again before the next one, and forecasts, which are kept for 30 s, count
only later. Clocks that fall do not wait."""

URGENT_SECONDS = 60.0
"""With less time left until clocks fall, throttling is raised by two choices at once."""

FAILED_SECONDS = 1800.0
"""A throttle that was too little is not tried again for this long. It doubles with each repetition."""


def final_margin(s: RunSituation) -> float | None:
    """Return the margin that a GPU will have if nothing changes: it goes on warming as a heat sink does."""
    margin = s.temperature_margin_celsius
    return None if margin is None else margin - HEAT_SINK_SECONDS * (s.warming or 0.0)


def is_hot(s: RunSituation, *, trusts_forecast: bool = True) -> bool:
    """Return True if clocks fall because of heat, or soon will."""
    margin, final = s.temperature_margin_celsius, final_margin(s)
    if s.slowed_by_heat is True or (trusts_forecast and s.heat_seconds_left is not None):
        return True
    if margin is None or final is None:
        return False
    return max(margin, final) <= HEAT.enter or margin <= SOON_SECONDS * (s.warming or 0.0)


def is_cool(s: RunSituation) -> bool:
    """Return True if every GPU of the run is well below its limit."""
    margin = s.temperature_margin_celsius
    return (
        margin is not None and margin >= HEAT.leave and s.slowed_by_heat is not True and not s.has("thermal_slowdown")
    )


def margin_with(s: RunSituation, now: float, to: float, room: float) -> float | None:
    """Return the final margin in degrees with another throttle: warming above the room is proportional to power."""
    final = final_margin(s)
    if s.temperature_celsius is None or s.temperature_margin_celsius is None or final is None:
        return None
    power = [IDLE_SHARE + (1.0 - share) * (1.0 - IDLE_SHARE) for share in (now, to)]
    warming = max(0.0, s.temperature_celsius + s.temperature_margin_celsius - final - room)
    return final - warming * (power[1] / power[0] - 1.0)


def failed_until_ns(case: RunCase, value: SharedValue, throttle: float) -> int:
    """Return until when a throttle counts as too little: since it last had to be raised from there."""
    raised = [
        one
        for one in case.history
        if one.name == value.name and one.rule == "throttle_heat" and number_of(one.value_from) >= throttle
    ]
    if not raised:
        return 0
    seconds = FAILED_SECONDS * 2.0 ** min(len(raised) - 1, 6)
    return max(one.changed_ns for one in raised) + int(seconds * 1e9)


def find_throttle(case: RunCase, value: SharedValue) -> RuleChange | None:
    """Propose a higher throttle if clocks fall because of heat, or soon will."""
    s, since = case.situation, case.seconds_since(value.name)
    if not is_hot(s, trusts_forecast=since >= FORECAST_SECONDS):
        return None
    if s.slowed_by_heat is not True and since < NEXT_STEP_SECONDS:
        return None
    to = value.choice(_enough(s, value))
    if to is None or number_of(to) <= value.number:
        return None
    predicted = margin_with(s, value.number, number_of(to), USUAL_ROOM)
    return RuleChange(
        to=to,
        because=_heat_words(s),
        gain=_speed(value.number, number_of(to)),
        predicted={} if predicted is None else {"margin_celsius": predicted},
        events=s.events("thermal_slowdown"),
    )


def _enough(s: RunSituation, value: SharedValue) -> float:
    """Return the smallest higher throttle with which the GPU is predicted to end below its limit with a margin.

    Well below the limit a smaller one is enough: if the prediction is right, there is time for another step.
    """
    higher = [each for each in value.numbers if each > value.number]
    urgent = s.slowed_by_heat is True or (s.heat_seconds_left is not None and s.heat_seconds_left < URGENT_SECONDS)
    higher = higher[1:] or higher if urgent else higher
    if not higher or s.warming is None or s.temperature_celsius is None or s.temperature_margin_celsius is None:
        return higher[0] if higher else value.number
    margin = s.temperature_margin_celsius
    needed = -margin / 2.0 if margin > HEAT.leave / 2.0 and not urgent else THROTTLE_MARGIN
    predicted = ((each, margin_with(s, value.number, each, USUAL_ROOM)) for each in higher)
    return next((each for each, found in predicted if found is not None and found >= needed), higher[-1])


def _heat_words(s: RunSituation) -> str:
    if s.slowed_by_heat is True:
        return "clocks fall because of heat"
    margin = s.temperature_margin_celsius
    where = "" if margin is None else f"the hottest GPU is {margin:.0f} °C below the temperature at which clocks fall"
    left = "" if s.heat_seconds_left is None else f"clocks are forecast to fall in {s.heat_seconds_left:.0f} s"
    return "; ".join(part for part in (where, left) if part)


def find_release(case: RunCase, value: SharedValue) -> RuleChange | None:
    """Propose the lowest throttle with which the GPUs stay cool, if they have been cool for a minute.

    The next lower one is tried already if it holds in a hot room. If it does not hold here, it counts as too little.
    """
    s = case.situation
    if not value.number or not is_cool(s) or (s.on_battery and value.number <= BATTERY_THROTTLE):
        return None
    least = BATTERY_THROTTLE if s.on_battery else 0.0
    lower = [each for each in value.numbers if least <= each < value.number]
    for each in (one for one in lower if s.now_ns >= failed_until_ns(case, value, one)):
        room = HOT_ROOM if each == lower[-1] else COOL_ROOM
        margin, to = margin_with(s, value.number, each, room), value.choice(each)
        if to is not None and margin is not None and margin >= THROTTLE_MARGIN:
            because = f"the hottest GPU is {s.temperature_margin_celsius:.0f} °C below its limit"
            gain = _speed(value.number, each)
            return RuleChange(to=to, because=because, gain=gain, predicted={"margin_celsius": margin})
    return None


def find_pause(case: RunCase, value: SharedValue) -> RuleChange | None:
    """Propose a pause if clocks fall because of heat although the throttle is at its maximum."""
    throttle, s = case.of("throttle"), case.situation
    if value.now is not False or s.slowed_by_heat is not True or throttle is None:
        return None
    if throttle.above(throttle.number) is not None or case.seconds_since(throttle.name) < FORECAST_SECONDS:
        return None
    events = s.events("thermal_slowdown")
    return RuleChange(to=True, because="clocks fall because of heat, and throttling is at its maximum", events=events)


def find_resume(case: RunCase, value: SharedValue) -> RuleChange | None:
    """Propose the end of a pause when the GPUs are cool."""
    if value.now is not True or not is_cool(case.situation):
        return None
    return RuleChange(
        to=False, because=f"the hottest GPU is {case.situation.temperature_margin_celsius:.0f} °C below its limit"
    )


def find_spare_battery(case: RunCase, value: SharedValue) -> RuleChange | None:
    """Propose gentler settings on battery."""
    to = value.choice(value.at_most(BATTERY_THROTTLE) or 0.0)
    if case.situation.on_battery is not True or to is None or value.number >= BATTERY_THROTTLE or not to:
        return None
    return RuleChange(to=to, because="a machine of the run is on battery", gain=_speed(value.number, number_of(to)))


def find_use_mains(case: RunCase, value: SharedValue) -> RuleChange | None:
    """Propose the full speed again on mains, if the battery was the reason to throttle."""
    last, to = case.last(value.name), value.choice(0.0)
    if case.situation.on_battery is not False or last is None or last.rule != "spare_battery" or is_hot(case.situation):
        return None
    if to is None or not value.number or last.value_to != value.now:
        return None
    return RuleChange(to=to, because="all machines are on mains again", gain=_speed(value.number, 0.0))


def _speed(now: float, to: float) -> tuple[float, float]:
    """Return the expected speed: the throttle is the share of time that is slept, and waits may already overlap it."""
    factor = (1.0 - to) / (1.0 - now) if now < 1.0 else 1.0
    return (factor, 1.0) if factor <= 1.0 else (1.0, factor)


_HEAT = "NVML's documentation of slowdown temperatures and throttle reasons"

RULES = (
    AdjustmentRule(
        name="throttle_heat",
        lever="throttle",
        evidence=(
            "clocks of a GPU of the run fall because of heat, or are forecast to (`thermal_slowdown`); or it is 3 °C "
            "or less below the temperature at which they fall and does not cool; or it reaches that within 30 s"
        ),
        change="the lowest share of sleep predicted to end 4 °C below; if urgent, two choices or more",
        inverse="`release_throttle`",
        safety=1,
        source=_HEAT,
        find=find_throttle,
        hold_seconds=3.0,
        protects=True,
        reversal_seconds=0.0,
    ),
    AdjustmentRule(
        name="release_throttle",
        lever="throttle",
        evidence=(
            "every GPU of the run has been at least 8 °C below that temperature for a minute, and is predicted to stay "
            "4 °C below it"
        ),
        change="the lowest share with which that holds and that was not too little recently",
        inverse="`throttle_heat`",
        safety=1,
        source=_HEAT,
        find=find_release,
        hold_seconds=60.0,
        protects=True,
        reversal_seconds=120.0,
    ),
    AdjustmentRule(
        name="pause_to_cool",
        lever="pause",
        evidence="clocks fall because of heat although the throttle has been at its maximum for 45 s",
        change="a pause of all ranks at one step, shorter than a quarter of the smallest time-out of their collectives",
        inverse="`resume`; the pause also ends by itself",
        safety=1,
        source="NCCL's watchdog time-out (10 minutes by default in PyTorch)",
        find=find_pause,
        hold_seconds=10.0,
        protects=True,
        reversal_seconds=600.0,
    ),
    AdjustmentRule(
        name="resume",
        lever="pause",
        evidence="every GPU of the run is at least 8 °C below that temperature",
        change="the end of the pause",
        inverse="`pause_to_cool`",
        safety=1,
        source=_HEAT,
        find=find_resume,
        hold_seconds=0.0,
        protects=True,
        reversal_seconds=0.0,
    ),
    AdjustmentRule(
        name="spare_battery",
        lever="throttle",
        evidence="a machine of the run has been on battery for a minute",
        change="a third of the time asleep",
        inverse="`use_mains`",
        safety=1,
        source="Linux kernel, power supply class",
        find=find_spare_battery,
        hold_seconds=60.0,
        protects=True,
        reversal_seconds=120.0,
    ),
    AdjustmentRule(
        name="use_mains",
        lever="throttle",
        evidence="all machines have been on mains for a minute, and the battery was the reason to throttle",
        change="no sleep",
        inverse="`spare_battery`",
        safety=1,
        source="Linux kernel, power supply class",
        find=find_use_mains,
        hold_seconds=60.0,
        protects=True,
        reversal_seconds=120.0,
    ),
)
