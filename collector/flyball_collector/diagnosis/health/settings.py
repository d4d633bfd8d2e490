"""Thresholds of the health detectors: the section `[diagnosis.health]`."""

from typing import Annotated

import msgspec
from msgspec import Meta

Seconds = Annotated[float, Meta(gt=0)]
Share = Annotated[float, Meta(gt=0, le=1)]


class HealthSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When a fault counts, and for how long."""

    gap_seconds: Annotated[
        Seconds, Meta(description="A host without a record for this long (and five of its intervals) has a gap.")
    ] = 10.0
    lost_seconds: Annotated[
        Seconds, Meta(description="A host without a connection and without a record for this long is lost.")
    ] = 30.0
    skew_seconds: Annotated[Seconds, Meta(description="How wrong a host's clock may be.")] = 0.1
    xid_seconds: Annotated[Seconds, Meta(description="How long an XID counts as new.")] = 300.0
    gpu_missing_seconds: Annotated[
        Seconds, Meta(description="How long a GPU that an agent no longer lists is missed before it is forgotten.")
    ] = 21_600.0
    nvlink_recoveries: Annotated[
        float, Meta(ge=1, description="Link recoveries of a GPU's NVLinks in ten minutes that count as a fault.")
    ] = 1.0
    nvlink_replays: Annotated[
        float, Meta(ge=1, description="Replays on a GPU's NVLinks in ten minutes that count as a fault.")
    ] = 1000.0
    pcie_load: Annotated[
        Share, Meta(description="GPU utilization from which its PCIe link must run at full speed; idle links sleep.")
    ] = 0.3
    infiniband_flaps: Annotated[
        float, Meta(ge=1, description="Link downs of a port in `infiniband_flap_seconds` that count.")
    ] = 3.0
    infiniband_flap_seconds: Annotated[Seconds, Meta(description="For how long link downs of a port are counted.")] = (
        43_200.0
    )
    network_error_share: Annotated[Share, Meta(description="Share of an interface's packets that may be damaged.")] = (
        1e-4
    )
    network_drop_share: Annotated[Share, Meta(description="Share of an interface's packets that may be dropped.")] = (
        1e-3
    )
    retransmit_share: Annotated[Share, Meta(description="Share of a host's TCP segments that may be sent again.")] = (
        0.02
    )
