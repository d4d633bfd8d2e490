"""The configuration file of Hugging Face Accelerate, for `accelerate launch --config_file`."""

from collections.abc import Iterator

from flyball_planner.catalogue.hardware import DeviceKind
from flyball_planner.emit.deepspeed_file import deepspeed_file
from flyball_planner.emit.emission import Emission, EmittedFile
from flyball_planner.emit.emitted_run import EmittedRun
from flyball_planner.emit.file_texts import yaml_text
from flyball_planner.emit.sharding_engine import ShardingEngine, engine_of
from flyball_planner.emit.shared_notes import (
    checkpoint_note,
    expert_note,
    method_notes,
    obstacle,
    schedule_words,
    without_file,
)
from flyball_planner.precision import NumberFormat
from flyball_planner.training import Checkpointing, Offload, Sharding
from flyball_reports.figures import plural

FILE = "accelerate.yaml"
NAME = "accelerate"
EXPRESSED = frozenset({"tensor", "context"})


def accelerate_file(run: EmittedRun) -> Emission:
    """Return the file, and the command that launches a script with it."""
    engine = engine_of(run)
    reason = obstacle(NAME, run, frozenset() if engine is ShardingEngine.DEEPSPEED else EXPRESSED)
    if reason:
        return without_file(NAME, reason)
    values: dict[str, object] = {
        "compute_environment": "LOCAL_MACHINE",
        "distributed_type": _distributed_type(run, engine),
        "num_machines": run.machine.nodes,
        "num_processes": run.machine.devices,
        "machine_rank": 0,
        "main_training_function": "main",
        "rdzv_backend": "static",
        "use_cpu": run.kind is DeviceKind.CPU,
        **_engine_values(run, engine),
        **_parallelism(run, engine),
    }
    notes = tuple(_notes(run, engine))
    head = (f"{run.title}: launch configuration of accelerate 1.", f"{_command(run, engine)}")
    also = deepspeed_file(run).files if engine is ShardingEngine.DEEPSPEED else ()
    file = EmittedFile(FILE, yaml_text((*head, *notes), values))
    return Emission(NAME, (file, *also), _command(run, engine), notes)


def _command(run: EmittedRun, engine: ShardingEngine) -> str:
    words = ["accelerate launch", f"--config_file {FILE}"]
    if engine is not ShardingEngine.DEEPSPEED:  # with DeepSpeed, its own file has the accumulation
        words.append(f"--gradient_accumulation_steps {run.accumulation}")
    return " ".join([*words, f"{several_nodes(run)}train.py"])


def several_nodes(run: EmittedRun) -> str:
    """Return the options that each of several nodes needs, with a space behind them."""
    one = run.machine.nodes == 1
    return "" if one else "--machine_rank $NODE_RANK --main_process_ip $HEAD_NODE --main_process_port 29500 "


def _distributed_type(run: EmittedRun, engine: ShardingEngine) -> str:
    if run.kind is DeviceKind.TPU:
        return "XLA"
    if engine in {ShardingEngine.FSDP, ShardingEngine.DEEPSPEED}:
        return engine.value.upper()
    if engine is ShardingEngine.ALONE:
        return "NO"
    if run.kind is DeviceKind.CPU:
        return "MULTI_CPU"
    return "MULTI_XPU" if "intel" in run.machine.device.vendor.casefold() else "MULTI_GPU"


def _engine_values(run: EmittedRun, engine: ShardingEngine) -> dict[str, object]:
    if engine is ShardingEngine.DEEPSPEED:  # accelerate refuses a second value of anything in DeepSpeed's file
        return {"deepspeed_config": {"deepspeed_config_file": "deepspeed.json", "zero3_init_flag": run.stage == 3}}
    found: dict[str, object] = {"mixed_precision": _mixed_precision(run)}
    if run.compute is NumberFormat.FP8:
        found["fp8_config"] = {"fp8_backend": "TE"}
    if run.compiled:
        found["dynamo_config"] = {"dynamo_backend": "INDUCTOR"}
    if engine is ShardingEngine.FSDP:
        found["fsdp_config"] = {
            "fsdp_version": 2,
            "fsdp_reshard_after_forward": run.layout.sharding is not Sharding.ZERO2,
            "fsdp_auto_wrap_policy": "TRANSFORMER_BASED_WRAP",
            "fsdp_state_dict_type": "SHARDED_STATE_DICT",
            "fsdp_offload_params": run.layout.offload is Offload.PARAMETERS,
            "fsdp_activation_checkpointing": run.layout.checkpointing is Checkpointing.FULL,
        }
    return found


def _mixed_precision(run: EmittedRun) -> str:
    if not run.mixed:
        return "no"
    return run.compute.value if run.compute in {NumberFormat.BF16, NumberFormat.FP16, NumberFormat.FP8} else "bf16"


def _must_shard(run: EmittedRun, engine: ShardingEngine) -> bool:
    """Return True if accelerate cannot replicate: next to tensor or context ranks it only shards."""
    layout = run.layout
    return engine is ShardingEngine.REPLICAS and layout.data > 1 and (layout.tensor > 1 or layout.context > 1)


def _parallelism(run: EmittedRun, engine: ShardingEngine) -> dict[str, object]:
    """Return the sizes of the process groups where they are not simply all replicas or all shards."""
    layout = run.layout
    groups = run.layout.shard_group and run.shard_ranks < layout.data and engine is ShardingEngine.FSDP
    if engine is ShardingEngine.DEEPSPEED or not (layout.tensor > 1 or layout.context > 1 or groups):
        return {}
    shards = run.shard_ranks if run.stage or _must_shard(run, engine) else 1
    return {
        "parallelism_config": {
            "parallelism_config_dp_replicate_size": layout.data // shards,
            "parallelism_config_dp_shard_size": shards,
            "parallelism_config_tp_size": layout.tensor,
            "parallelism_config_cp_size": layout.context,
        }
    }


def _notes(run: EmittedRun, engine: ShardingEngine) -> Iterator[str]:
    sequences = f", sequences of {run.sequence:,} tokens" if run.sequence else ""
    workers = "" if run.workers is None else f", {plural(run.workers, 'loader worker')}"
    yield (
        f"{NAME} has no batch, steps, optimizer, schedule and data loader in this file; set in your script: "
        f"micro-batches of {run.layout.micro_batch}{sequences}{workers}, {run.steps:,} steps, {schedule_words(run)}"
    )
    if engine is not ShardingEngine.DEEPSPEED:
        option = f"--gradient_accumulation_steps {run.accumulation}"
        yield f"{NAME} has no accumulation in this file: pass {option}, or the number to Accelerator"
    yield from checkpoint_note(NAME, run, "accelerator.save_state()")
    yield from _state_notes(run, engine)
    kept = run.layout.checkpointing
    if kept is not Checkpointing.NONE and not (kept is Checkpointing.FULL and engine is ShardingEngine.FSDP):
        yield f"{NAME} has no {kept.value} checkpointing in this file: turn it on in the model"
    yield from expert_note(NAME, run)
    yield from method_notes(NAME, run)


def _state_notes(run: EmittedRun, engine: ShardingEngine) -> Iterator[str]:
    if _must_shard(run, engine):
        yield f"{NAME} has no replicas beside tensor or context parallelism: the states are sharded, which saves memory"
    if run.kind is DeviceKind.TPU and run.stage:
        yield f"{NAME} has no ZeRO-{run.stage} for TPUs in this file"
    if run.compute in {NumberFormat.FP4, NumberFormat.INT8}:
        yield f"{NAME} has no {run.compute.value}: the file has bf16"
    elif not run.mixed and run.compute in {NumberFormat.BF16, NumberFormat.FP16}:
        yield f"{NAME} has no weights in {run.compute.value}: convert the model in your script"
    elif run.compute is NumberFormat.TF32:
        yield f"{NAME} has no tf32: call torch.set_float32_matmul_precision('high')"
