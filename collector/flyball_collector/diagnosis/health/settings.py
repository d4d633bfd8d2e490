"""Thresholds of the health detectors: the section `[diagnosis.health]`."""

from typing import Annotated

import msgspec
from msgspec import Meta

Seconds = Annotated[float, Meta(gt=0)]
Share = Annotated[float, Meta(gt=0, le=1)]


class HealthSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Thresholds for faults, and how long they count."""

    gap_seconds: Annotated[
        Seconds, Meta(description="A host without a record for this long (and five of its intervals) has a gap.")
    ] = 10.0
    lost_seconds: Annotated[
        Seconds, Meta(description="A host without a connection and without a record for this long is lost.")
    ] = 30.0
    skew_seconds: Annotated[Seconds, Meta(description="A host's clock may be wrong by this much.")] = 0.1
    xid_seconds: Annotated[Seconds, Meta(description="An XID is reported for this long.")] = 300.0
    gpu_missing_seconds: Annotated[
        Seconds, Meta(description="A GPU that an agent no longer lists is reported as lost for this long.")
    ] = 21_600.0
    nvlink_recoveries: Annotated[
        float, Meta(ge=1, description="NVLink recoveries of a GPU in ten minutes that count as a fault.")
    ] = 1.0
    nvlink_replays: Annotated[
        float, Meta(ge=1, description="NVLink replays of a GPU in ten minutes that count as a fault.")
    ] = 1000.0
    pcie_load: Annotated[
        Share,
        Meta(description="GPU utilization from which its PCIe link must run at full speed (idle links are slower)."),
    ] = 0.3
    infiniband_flaps: Annotated[
        float, Meta(ge=1, description="Link downs of a port within `infiniband_flap_seconds` that count as a fault.")
    ] = 3.0
    infiniband_flap_seconds: Annotated[
        Seconds, Meta(description="Time over which link downs of a port are counted.")
    ] = 43_200.0
    network_error_share: Annotated[Share, Meta(description="Share of damaged packets that an interface may have.")] = (
        1e-4
    )
    network_drop_share: Annotated[Share, Meta(description="Share of dropped packets that an interface may have.")] = (
        1e-3
    )
    retransmit_share: Annotated[
        Share, Meta(description="Share of retransmitted TCP segments that a host may have.")
    ] = 0.02
