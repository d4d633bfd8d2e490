"""Arguments of Lightning's Trainer as YAML, for LightningCLI or `Trainer(**...)`."""

from collections.abc import Iterator

from flyball_planner.catalogue.hardware import DeviceKind
from flyball_planner.emit.emission import Emission, EmittedFile
from flyball_planner.emit.emitted_run import EPSILON, KEPT_CHECKPOINTS, EmittedRun
from flyball_planner.emit.file_texts import yaml_text
from flyball_planner.emit.optimizer_names import MOMENTUM, TORCH, WITH_BETAS
from flyball_planner.emit.sharding_engine import ShardingEngine, deepspeed_stage, engine_of
from flyball_planner.emit.shared_notes import (
    expert_note,
    method_notes,
    obstacle,
    schedule_words,
    sequence_note,
    without_file,
)
from flyball_planner.precision import NumberFormat
from flyball_planner.training import Checkpointing, Offload, Sharding
from flyball_reports.figures import plural

FILE = "lightning.yaml"
NAME = "lightning"
ACCELERATORS = {DeviceKind.CPU: "cpu", DeviceKind.TPU: "tpu", DeviceKind.UNIFIED: "mps", DeviceKind.GPU: "gpu"}
FORMATS = {NumberFormat.FP16: "16", NumberFormat.BF16: "bf16", NumberFormat.FP8: "bf16", NumberFormat.FP4: "bf16"}
STRATEGIES = "lightning.pytorch.strategies"


def lightning_file(run: EmittedRun) -> Emission:
    """Return the section `trainer`, and `optimizer` where torch has it."""
    reason = obstacle(NAME, run, frozenset({"tensor"}))
    if reason:
        return without_file(NAME, reason)
    trainer: dict[str, object] = {
        "accelerator": ACCELERATORS[run.kind],
        "devices": run.devices_a_node,
        "num_nodes": run.machine.nodes,
        "strategy": _strategy(run),
        "precision": _precision(run),
        "max_steps": run.steps,
        "accumulate_grad_batches": run.accumulation,
        "callbacks": [_checkpoints(run)],
    }
    if _clips(run):
        trainer |= {"gradient_clip_val": run.schedule.gradient_clip, "gradient_clip_algorithm": "norm"}
    values: dict[str, object] = {"trainer": trainer, **_optimizer(run)}
    notes = tuple(_notes(run))
    head = (f"{run.title}: arguments of Lightning 2. LightningCLI reads it with --config {FILE}.",)
    command = f"python train.py fit --config {FILE}"
    return Emission(NAME, (EmittedFile(FILE, yaml_text((*head, *notes), values)),), command, notes)


def _checkpoints(run: EmittedRun) -> dict[str, object]:
    """Return the callback that writes checkpoints; Lightning's own one does so only after an epoch.

    The step as monitored value keeps the newest ones; `save_last` would write each checkpoint twice.
    """
    newest = {"monitor": "step", "mode": "max", "save_top_k": KEPT_CHECKPOINTS}
    options = {"every_n_train_steps": run.checkpoint_steps, **newest}
    return {"class_path": "lightning.pytorch.callbacks.ModelCheckpoint", "init_args": options}


def _strategy(run: EmittedRun) -> str | dict[str, object]:
    layout, engine = run.layout, engine_of(run)
    if layout.tensor > 1:
        sizes = {"data_parallel_size": layout.data, "tensor_parallel_size": layout.tensor}
        return {"class_path": f"{STRATEGIES}.ModelParallelStrategy", "init_args": sizes}
    if engine is ShardingEngine.FSDP:
        options: dict[str, object] = {
            "sharding_strategy": _sharding(run),
            "cpu_offload": layout.offload is Offload.PARAMETERS,
            "state_dict_type": "sharded",
        }
        return {"class_path": f"{STRATEGIES}.FSDPStrategy", "init_args": options}
    if engine is ShardingEngine.DEEPSPEED:
        options = {
            "stage": deepspeed_stage(run),
            "offload_optimizer": run.offloads_states,
            "offload_parameters": layout.offload is Offload.PARAMETERS,
            "logging_batch_size_per_gpu": layout.micro_batch,
        }
        return {"class_path": f"{STRATEGIES}.DeepSpeedStrategy", "init_args": options}
    return "ddp" if engine is ShardingEngine.REPLICAS and run.kind is not DeviceKind.TPU else "auto"


def _sharding(run: EmittedRun) -> str:
    hybrid = "HYBRID_SHARD" if _hybrid(run) else "FULL_SHARD"
    return hybrid if run.layout.sharding is not Sharding.ZERO2 else "SHARD_GRAD_OP"


def _hybrid(run: EmittedRun) -> bool:
    """Return True if the states are shared within each node and replicated between nodes, as HYBRID_SHARD does."""
    return run.shard_ranks < run.layout.data and run.shard_ranks == run.devices_a_node


def _precision(run: EmittedRun) -> str:
    if run.compute in {NumberFormat.FP32, NumberFormat.TF32}:
        return "32-true"
    return f"{FORMATS.get(run.compute, 'bf16')}-{'mixed' if run.mixed else 'true'}"


def _clips(run: EmittedRun) -> bool:
    """Return True unless the strategy is FSDP, for which Lightning 2.6 refuses to clip by norm."""
    return engine_of(run) is not ShardingEngine.FSDP or run.layout.tensor > 1


def _optimizer(run: EmittedRun) -> dict[str, object]:
    schedule = run.schedule
    if schedule.optimizer not in TORCH:
        return {}
    options: dict[str, object] = {"lr": schedule.learning_rate}
    if schedule.optimizer != "adam":
        options["weight_decay"] = schedule.weight_decay
    if schedule.optimizer in WITH_BETAS:
        options |= {"betas": list(schedule.betas), "eps": EPSILON}
    if schedule.optimizer == "adamw-fused":
        options["fused"] = True
    if schedule.optimizer == "sgd-momentum":
        options["momentum"] = MOMENTUM
    return {"optimizer": {"class_path": TORCH[schedule.optimizer], "init_args": options}}


def _notes(run: EmittedRun) -> Iterator[str]:
    schedule, layout = run.schedule, run.layout
    workers = "its default number of workers" if run.workers is None else plural(run.workers, "worker")
    yield f"{NAME} has no batch in its Trainer: DataLoader(batch_size={layout.micro_batch}) with {workers}"
    yield from sequence_note(NAME, run)
    yield (
        f"{NAME} has no schedule per step in this file: return one with interval 'step' from configure_optimizers "
        f"({schedule_words(run)})"
    )
    if schedule.optimizer not in TORCH:
        yield f"{NAME} and torch have no optimizer {schedule.optimizer}: return yours from configure_optimizers"
    if not _clips(run):
        yield (
            f"{NAME} has no clipping by norm with FSDP: call module.clip_grad_norm_({schedule.gradient_clip:g}) in "
            "configure_gradient_clipping"
        )
    yield from _state_notes(run)
    yield from expert_note(NAME, run)
    yield from method_notes(NAME, run)


def _state_notes(run: EmittedRun) -> Iterator[str]:
    layout, engine = run.layout, engine_of(run)
    if layout.checkpointing is not Checkpointing.NONE:
        yield f"{NAME} has no names of your layers: turn on {layout.checkpointing.value} checkpointing in the model"
    if layout.tensor > 1:
        yield f"{NAME} leaves tensor parallelism and sharding to your configure_model(), on the strategy's mesh"
    if engine is ShardingEngine.FSDP and run.shard_ranks < layout.data and not _hybrid(run):
        yield f"{NAME} has no groups of {run.shard_ranks} ranks: all replicas share the states"
    if run.compiled:
        yield f"{NAME} does not compile by this file: wrap the module in torch.compile"
    if run.compute in {NumberFormat.FP8, NumberFormat.FP4, NumberFormat.INT8}:
        yield f"{NAME} has no {run.compute.value} in this file: it has bf16; pass TransformerEnginePrecision for fp8"
    elif run.compute is NumberFormat.TF32:
        yield f"{NAME} has no tf32 in this file: call torch.set_float32_matmul_precision('high')"
    elif run.precision.master and engine is not ShardingEngine.DEEPSPEED:
        yield (
            f"{NAME} keeps the weights in fp32 and casts them, instead of {run.compute.value} weights with an fp32 "
            "copy: a parameter needs as many bytes"
        )
    if run.kind is DeviceKind.TPU and run.stage:
        yield f"{NAME} shards on TPUs with XLAFSDPStrategy: pass it in your script for ZeRO-{run.stage}"
