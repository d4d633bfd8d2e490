"""Thresholds of the health detectors: the section `[diagnosis.health]`."""

from typing import Annotated

import msgspec
from msgspec import Meta

Seconds = Annotated[float, Meta(gt=0)]
Share = Annotated[float, Meta(gt=0, le=1)]


class HealthSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Thresholds for faults, and how long they count."""

    gap_seconds: Annotated[
        Seconds,
        Meta(description="A data gap is reported after this long and five of the host's intervals without a record."),
    ] = 10.0
    lost_seconds: Annotated[
        Seconds,
        Meta(description="A host is reported as lost if it has had no connection and sent no record for this long."),
    ] = 30.0
    skew_seconds: Annotated[
        Seconds,
        Meta(description="A host's clock is reported as wrong if it differs from the collector's by more than this."),
    ] = 0.1
    xid_seconds: Annotated[Seconds, Meta(description="An XID counts as recent for this long.")] = 300.0
    gpu_missing_seconds: Annotated[
        Seconds, Meta(description="A GPU that an agent no longer lists is reported as lost for this long.")
    ] = 21_600.0
    nvlink_recoveries: Annotated[
        float, Meta(ge=1, description="Number of NVLink recoveries of a GPU within ten minutes that counts as a fault.")
    ] = 1.0
    nvlink_replays: Annotated[
        float, Meta(ge=1, description="Number of NVLink replays of a GPU within ten minutes that counts as a fault.")
    ] = 1000.0
    pcie_load: Annotated[
        Share,
        Meta(
            description="Utilisation of a GPU from which its PCIe link must run at full speed. Idle links are slower."
        ),
    ] = 0.3
    infiniband_flaps: Annotated[
        float,
        Meta(
            ge=1,
            description="A port that goes down this often within `infiniband_flap_seconds` is reported.",
        ),
    ] = 3.0
    infiniband_flap_seconds: Annotated[Seconds, Meta(description="Time over which a port's downs are counted.")] = (
        43_200.0
    )
    network_error_share: Annotated[
        Share, Meta(description="An interface is reported if a larger share of its packets is damaged.")
    ] = 1e-4
    network_drop_share: Annotated[
        Share, Meta(description="An interface is reported if a larger share of its packets is dropped.")
    ] = 1e-3
    retransmit_share: Annotated[
        Share, Meta(description="A host is reported if a larger share of its TCP segments is retransmitted.")
    ] = 0.02
