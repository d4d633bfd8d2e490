"""The part of a framework that replicates or shards the states: data parallelism, FSDP or DeepSpeed."""

from enum import StrEnum

from flyball_planner.catalogue.hardware import DeviceKind
from flyball_planner.emit.emitted_run import EmittedRun
from flyball_planner.training import Offload, Sharding

OFFLOAD_STAGE = {Offload.OPTIMIZER: 2, Offload.PARAMETERS: 3}  # the lowest stages of DeepSpeed that offload them


class ShardingEngine(StrEnum):
    """The holder of the model states of data-parallel ranks."""

    ALONE = "alone"  # one process
    REPLICAS = "replicas"  # DistributedDataParallel
    FSDP = "fsdp"
    DEEPSPEED = "deepspeed"


def engine_of(run: EmittedRun) -> ShardingEngine:
    """Return the engine for a layout: only DeepSpeed has ZeRO-1 and offloads nothing but the optimizer."""
    layout = run.layout
    if run.kind is DeviceKind.TPU:
        return ShardingEngine.REPLICAS if run.machine.devices > 1 else ShardingEngine.ALONE
    if layout.sharding is Sharding.ZERO1 or layout.offload is Offload.OPTIMIZER:
        return ShardingEngine.DEEPSPEED
    if run.framework == "deepspeed" and (run.stage or run.offloads_states):
        return ShardingEngine.DEEPSPEED
    if run.stage or run.offloads_states or layout.context > 1:
        return ShardingEngine.FSDP
    return ShardingEngine.REPLICAS if run.machine.devices > 1 else ShardingEngine.ALONE


def deepspeed_stage(run: EmittedRun) -> int:
    """Return the stage of ZeRO for DeepSpeed, which offloads from stage 2 (states) or 3 (weights) on."""
    return max(run.stage, OFFLOAD_STAGE.get(run.layout.offload, 0))
