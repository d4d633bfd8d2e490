"""Settings of the diagnosis: the section `[diagnosis]`."""

from typing import Annotated

import msgspec
from msgspec import Meta

from flyball_collector.advice.settings import AdviceSettings
from flyball_collector.diagnosis.conditions import CHANGES_PER_HOUR
from flyball_collector.diagnosis.forecast.settings import ForecastSettings
from flyball_collector.diagnosis.health.settings import HealthSettings
from flyball_collector.diagnosis.peers.settings import PeerSettings
from flyball_collector.diagnosis.runs.settings import RunSettings
from flyball_collector.diagnosis.scores.settings import ScoreSettings
from flyball_collector.diagnosis.waste_settings import WasteSettings


class DiagnosisSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Thresholds, and the conditions and rules that are disabled."""

    disabled: Annotated[
        tuple[str, ...], Meta(description="Names of kinds of condition and of rules of advice to disable.")
    ] = ()
    changes_per_hour: Annotated[
        int,
        Meta(
            ge=2,
            description=(
                "How often a condition may be raised and cleared within an hour, counted together. "
                "Then it stays raised while it comes and goes."
            ),
        ),
    ] = CHANGES_PER_HOUR
    advice: AdviceSettings = AdviceSettings()
    forecast: ForecastSettings = ForecastSettings()
    health: HealthSettings = HealthSettings()
    peers: PeerSettings = PeerSettings()
    runs: RunSettings = RunSettings()
    scores: ScoreSettings = ScoreSettings()
    waste: WasteSettings = WasteSettings()
