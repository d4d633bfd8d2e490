"""Settings of the diagnosis: thresholds, and what is switched off. They are the section `[diagnosis]`."""

from typing import Annotated

import msgspec
from msgspec import Meta

from flyball_collector.advice.settings import AdviceSettings
from flyball_collector.diagnosis.forecast.settings import ForecastSettings
from flyball_collector.diagnosis.health.settings import HealthSettings
from flyball_collector.diagnosis.peers.settings import PeerSettings
from flyball_collector.diagnosis.runs.settings import RunSettings
from flyball_collector.diagnosis.scores.settings import ScoreSettings
from flyball_collector.diagnosis.waste_settings import WasteSettings


class DiagnosisSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What counts as too much."""

    disabled: Annotated[
        tuple[str, ...], Meta(description="Kinds of condition and rules of advice that are not to be told.")
    ] = ()
    advice: AdviceSettings = AdviceSettings()
    forecast: ForecastSettings = ForecastSettings()
    health: HealthSettings = HealthSettings()
    peers: PeerSettings = PeerSettings()
    runs: RunSettings = RunSettings()
    scores: ScoreSettings = ScoreSettings()
    waste: WasteSettings = WasteSettings()
