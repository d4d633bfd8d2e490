"""`TrainingArguments` of Hugging Face transformers as YAML, for `HfArgumentParser.parse_yaml_file`."""

from collections.abc import Iterator

from flyball_planner.catalogue.hardware import DeviceKind
from flyball_planner.emit.accelerate_file import EXPRESSED, accelerate_file, several_nodes
from flyball_planner.emit.deepspeed_file import deepspeed_file
from flyball_planner.emit.emission import Emission, EmittedFile
from flyball_planner.emit.emitted_run import EPSILON, KEPT_CHECKPOINTS, EmittedRun
from flyball_planner.emit.file_texts import json_text, yaml_text
from flyball_planner.emit.model_config import FILE as CONFIG
from flyball_planner.emit.model_config import llama_config
from flyball_planner.emit.optimizer_names import MOMENTUM, TRANSFORMERS
from flyball_planner.emit.sharding_engine import ShardingEngine, engine_of
from flyball_planner.emit.shared_notes import (
    expert_note,
    method_notes,
    obstacle,
    schedule_words,
    sequence_note,
    without_file,
    workers_note,
)
from flyball_planner.emit.torchrun_command import launch
from flyball_planner.precision import NumberFormat
from flyball_planner.training import Checkpointing, Offload, Sharding

FILE = "transformers.yaml"
NAME = "transformers"
EXPRESSED_BY_DEEPSPEED = frozenset({"tensor"})  # Trainer passes DeepSpeed's file on, with its tensor parallelism
HALVED = 2  # layers between two recomputed ones, the closest to recomputing every second product


def transformers_arguments(run: EmittedRun) -> Emission:
    """Return the arguments of `transformers.Trainer`, and how to start a script that reads them."""
    engine = engine_of(run)
    reason = obstacle(NAME, run, EXPRESSED_BY_DEEPSPEED if engine is ShardingEngine.DEEPSPEED else EXPRESSED)
    if reason:
        return without_file(NAME, reason)
    values: dict[str, object] = {
        "output_dir": "checkpoints",
        "max_steps": run.steps,
        "per_device_train_batch_size": run.layout.micro_batch,
        "per_device_eval_batch_size": run.layout.micro_batch,  # the default of 8 may not fit
        "gradient_accumulation_steps": run.accumulation,
        **_optimizer(run),
        **_precision(run),
        **_states(run),
        "torch_compile": run.compiled,
        "save_strategy": "steps",
        "save_steps": run.checkpoint_steps,
        "save_total_limit": KEPT_CHECKPOINTS,
        **_loader(run),
    }
    if run.kind is DeviceKind.CPU:
        values["use_cpu"] = True
    notes = tuple(_notes(run))
    head = (
        f"{run.title}: TrainingArguments of transformers 5.",
        "HfArgumentParser(TrainingArguments).parse_yaml_file(...) reads it, and so do the example scripts.",
        f"Batch: {_batch(run)}.",
        f"Schedule: {schedule_words(run)}.",
    )
    file = EmittedFile(FILE, yaml_text((*head, *notes), values))
    return Emission(NAME, (file, *_model(run), *_needed(run)), _command(run), notes)


def _model(run: EmittedRun) -> tuple[EmittedFile, ...]:
    """Return the file of the model if it is a Llama by its dimensions."""
    config = llama_config(run.shape, run.sequence or 1) if run.shape and not run.published else None
    return (EmittedFile(CONFIG, json_text(config)),) if config else ()


def _batch(run: EmittedRun) -> str:
    replicas = f" × {run.layout.data} replicas" if run.layout.data > 1 else ""
    return f"{run.layout.micro_batch} × {run.accumulation} accumulated{replicas} = {run.global_batch} samples"


def _needed(run: EmittedRun) -> tuple[EmittedFile, ...]:
    """Return the files of accelerate and DeepSpeed that these arguments need."""
    if _launched(run):
        return accelerate_file(run).files
    return deepspeed_file(run).files if engine_of(run) is ShardingEngine.DEEPSPEED else ()


def _launched(run: EmittedRun) -> bool:
    """Return True if only accelerate's file has the process groups of this layout; DeepSpeed's file has its own."""
    layout = run.layout
    if engine_of(run) is ShardingEngine.DEEPSPEED:
        return False
    return layout.tensor > 1 or layout.context > 1 or run.shard_ranks < layout.data


def _command(run: EmittedRun) -> str:
    if _launched(run):
        return f"accelerate launch --config_file accelerate.yaml {several_nodes(run)}run_clm.py {FILE}"
    return f"python run_clm.py {FILE}" if run.kind is DeviceKind.TPU else f"torchrun {launch(run)} run_clm.py {FILE}"


def _optimizer(run: EmittedRun) -> dict[str, object]:
    schedule = run.schedule
    found: dict[str, object] = {"optim": TRANSFORMERS.get(schedule.optimizer, "adamw_torch")}
    if schedule.optimizer == "sgd-momentum":
        found["optim_args"] = f"momentum={MOMENTUM}"
    return found | {
        "learning_rate": schedule.learning_rate,
        "lr_scheduler_type": "cosine_with_min_lr",
        "lr_scheduler_kwargs": {"min_lr_rate": round(schedule.last_share, 6)},
        "warmup_steps": schedule.warm_up_steps,
        "weight_decay": 0.0 if schedule.optimizer == "adam" else schedule.weight_decay,
        "adam_beta1": schedule.betas[0],
        "adam_beta2": schedule.betas[1],
        "adam_epsilon": EPSILON,
        "max_grad_norm": schedule.gradient_clip,
    }


def _precision(run: EmittedRun) -> dict[str, object]:
    found: dict[str, object] = {}
    narrow = run.compute in {NumberFormat.BF16, NumberFormat.FP8, NumberFormat.FP4, NumberFormat.INT8}
    if run.mixed:
        found = {"bf16": narrow, "fp16": run.compute is NumberFormat.FP16}
    elif run.compute is NumberFormat.TF32:
        found["tf32"] = True
    return found


def _states(run: EmittedRun) -> dict[str, object]:
    """Return sharding and checkpointing: with FSDP, its own checkpointing avoids gathering the weights twice."""
    engine, kept = engine_of(run), run.layout.checkpointing
    own = kept is Checkpointing.FULL and engine is ShardingEngine.FSDP
    found: dict[str, object] = {"activation_checkpointing": kept is not Checkpointing.NONE and not own}
    if kept is Checkpointing.SELECTIVE:
        found["activation_checkpointing_kwargs"] = {"every_n_layers": HALVED}
    if engine is ShardingEngine.DEEPSPEED:
        found["deepspeed"] = "deepspeed.json"
    if engine is ShardingEngine.FSDP:
        found |= {"fsdp": True, "fsdp_config": _fsdp(run, own)}
    return found


def _fsdp(run: EmittedRun, checkpointing: bool) -> dict[str, object]:
    return {
        "version": 2,
        "reshard_after_forward": run.layout.sharding is not Sharding.ZERO2,
        "auto_wrap_policy": "TRANSFORMER_BASED_WRAP",
        "state_dict_type": "SHARDED_STATE_DICT",
        "cpu_offload": run.layout.offload is Offload.PARAMETERS,
        "activation_checkpointing": checkpointing,
    }


def _loader(run: EmittedRun) -> dict[str, object]:
    if run.workers is None:
        return {}
    prefetched: dict[str, object] = {"dataloader_prefetch_factor": run.prefetch} if run.workers and run.prefetch else {}
    return {"dataloader_num_workers": run.workers, **prefetched}


def _notes(run: EmittedRun) -> Iterator[str]:
    engine, schedule, kept = engine_of(run), run.schedule, run.layout.checkpointing
    if _model(run):
        yield f"{NAME} has no model in its arguments: {CONFIG} beside them has it, for AutoConfig and --config_name"
    else:
        yield f"{NAME} has no model in its arguments: name {run.model} in your script"
    yield from sequence_note(NAME, run)
    yield from workers_note(NAME, run)
    if schedule.optimizer not in TRANSFORMERS:
        used = "AdamW without weight decay, which is the same," if schedule.optimizer == "adam" else "AdamW"
        yield f"{NAME} has no optimizer {schedule.optimizer}: the file has {used} instead"
    yield from _precision_notes(run, engine)
    if kept is Checkpointing.SELECTIVE:
        yield f"{NAME} has no checkpointing of single products: every second layer is recomputed instead"
    if kept is Checkpointing.LIGHT:
        yield f"{NAME} has no light checkpointing: whole layers are recomputed instead, which is slower"
    if _launched(run):
        yield f"{NAME} reads process groups from accelerate: launch with accelerate.yaml, which has their sizes"
    if run.kind is DeviceKind.TPU and run.stage:
        yield f"{NAME} shards on TPUs with its own XLA settings: add fsdp_config with xla: true for ZeRO-{run.stage}"
    yield from expert_note(NAME, run)
    yield from method_notes(NAME, run)


def _precision_notes(run: EmittedRun, engine: ShardingEngine) -> Iterator[str]:
    if run.compute in {NumberFormat.FP8, NumberFormat.FP4, NumberFormat.INT8}:
        yield f"{NAME} has no {run.compute.value} in this file, which has bf16: launch with accelerate's fp8 settings"
    elif not run.mixed and run.compute in {NumberFormat.BF16, NumberFormat.FP16}:
        name = "torch.bfloat16" if run.compute is NumberFormat.BF16 else "torch.float16"
        yield f"{NAME} has no weights in {run.compute.value} in this file: load the model with dtype={name}"
    elif run.precision.master and engine is not ShardingEngine.DEEPSPEED:
        yield (
            f"{NAME} keeps the weights in fp32 and casts them, instead of {run.compute.value} weights with an fp32 "
            "copy: the weights, gradients and states of a parameter need as many bytes"
        )
