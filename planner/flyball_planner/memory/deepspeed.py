"""DeepSpeed's own estimators of model states, for comparison (deepspeed.ai, memory requirements)."""

from flyball_planner.training import Offload, Sharding


def deepspeed_states_bytes(
    parameters: float, largest_layer: float, devices: int, stage: Sharding, offload: Offload = Offload.NONE
) -> float:
    """Return the bytes on one device under ZeRO-2 or ZeRO-3."""
    if stage is Sharding.ZERO2:
        return 2 * parameters if offload is not Offload.NONE else 4 * parameters + 16 * parameters / devices
    if stage is not Sharding.ZERO3:
        raise ValueError(f"DeepSpeed only has estimators for ZeRO-2 and ZeRO-3, not for {stage}")
    shared = {Offload.NONE: 18, Offload.OPTIMIZER: 2}.get(offload, 0)
    return 4 * largest_layer + shared * parameters / devices
