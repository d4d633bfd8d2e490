"""DeepSpeed's JSON file: batch, ZeRO, formats, optimizer and schedule."""

from collections.abc import Iterator

from flyball_planner.catalogue.hardware import DeviceKind
from flyball_planner.emit.emission import Emission, EmittedFile
from flyball_planner.emit.emitted_run import EPSILON, EmittedRun
from flyball_planner.emit.file_texts import json_text
from flyball_planner.emit.optimizer_names import DEEPSPEED, MOMENTUM, WITH_BETAS, WITH_EPSILON
from flyball_planner.emit.sharding_engine import deepspeed_stage
from flyball_planner.emit.shared_notes import (
    checkpoint_note,
    expert_note,
    method_notes,
    obstacle,
    schedule_words,
    sequence_note,
    without_file,
    workers_note,
)
from flyball_planner.precision import NumberFormat
from flyball_planner.training import Checkpointing, Offload
from flyball_reports.figures import plural

FILE = "deepspeed.json"
NAME = "deepspeed"
LAST_STAGE_WITH_TENSOR = 2  # AutoTP shards the layers itself, so it excludes ZeRO-3


def deepspeed_file(run: EmittedRun) -> Emission:
    """Return the file; it refuses nothing but TPUs, where DeepSpeed does not run."""
    if run.kind in {DeviceKind.TPU, DeviceKind.UNIFIED}:
        return without_file(NAME, f"{NAME} does not run on {run.machine.device.name}, so no file is written")
    expressed = {"pipeline"} if deepspeed_stage(run) > LAST_STAGE_WITH_TENSOR else {"pipeline", "tensor"}
    reason = obstacle(NAME, run, frozenset(expressed))
    if reason:
        return without_file(NAME, reason)
    values: dict[str, object] = {
        "train_batch_size": run.global_batch,
        "train_micro_batch_size_per_gpu": run.layout.micro_batch,
        "gradient_accumulation_steps": run.accumulation,
        "gradient_clipping": run.schedule.gradient_clip,
        "zero_optimization": _zero(run),
        **_formats(run),
        **_optimizer(run),
        "scheduler": _scheduler(run),
    }
    if run.layout.tensor > 1:
        values["tensor_parallel"] = {"autotp_size": run.layout.tensor}
    return Emission(NAME, (EmittedFile(FILE, json_text(values)),), _command(run), tuple(_notes(run)))


def _command(run: EmittedRun) -> str:
    nodes = f"--hostfile hostfile --num_nodes {run.machine.nodes} " if run.machine.nodes > 1 else ""
    return f"deepspeed {nodes}--num_gpus {run.devices_a_node} train.py --deepspeed --deepspeed_config {FILE}"


def _zero(run: EmittedRun) -> dict[str, object]:
    stage, offload = deepspeed_stage(run), run.layout.offload
    found: dict[str, object] = {"stage": stage, "overlap_comm": stage > 0, "contiguous_gradients": stage > 0}
    if run.offloads_states:
        found["offload_optimizer"] = {"device": "cpu", "pin_memory": True}
    if offload is Offload.PARAMETERS:
        found["offload_param"] = {"device": "cpu", "pin_memory": True}
    if stage == LAST_STAGE_WITH_TENSOR + 1:
        found["stage3_gather_16bit_weights_on_model_save"] = True
    return found


def _formats(run: EmittedRun) -> dict[str, object]:
    half = run.compute is NumberFormat.FP16
    narrow = run.compute not in {NumberFormat.FP16, NumberFormat.FP32, NumberFormat.TF32}
    scaled: dict[str, object] = {"loss_scale": 0} if half else {}  # 0: dynamic
    return {"bf16": {"enabled": narrow}, "fp16": {"enabled": half, **scaled}}


def _optimizer(run: EmittedRun) -> dict[str, object]:
    schedule = run.schedule
    if schedule.optimizer not in DEEPSPEED:
        return {}
    parameters: dict[str, object] = {"lr": schedule.learning_rate, "weight_decay": schedule.weight_decay}
    if schedule.optimizer == "adam":
        parameters |= {"weight_decay": 0.0, "adam_w_mode": False}
    if schedule.optimizer in WITH_BETAS:
        parameters["betas"] = list(schedule.betas)
    if schedule.optimizer in WITH_EPSILON:
        parameters["eps"] = EPSILON
    if schedule.optimizer == "sgd-momentum":
        parameters["momentum"] = MOMENTUM
    return {"optimizer": {"type": DEEPSPEED[schedule.optimizer], "params": parameters}}


def _scheduler(run: EmittedRun) -> dict[str, object]:
    schedule = run.schedule
    return {
        "type": "WarmupCosineLR",
        "params": {
            "total_num_steps": run.steps,
            "warmup_num_steps": schedule.warm_up_steps,
            "warmup_type": "linear",
            "warmup_min_ratio": 0.0,
            "cos_min_ratio": round(schedule.last_share, 6),
        },
    }


def _notes(run: EmittedRun) -> Iterator[str]:
    kept, layout = run.layout.checkpointing, run.layout
    yield from sequence_note(NAME, run)
    if run.workers is not None:
        yield f"{NAME} has no data loader in this file: use {plural(run.workers, 'worker')} in your script"
    yield from workers_note(NAME, run)
    yield f"{NAME} has no number of steps in this file: stop after {run.steps:,}, where the schedule ends"
    yield from checkpoint_note(NAME, run, "engine.save_checkpoint()")
    if run.schedule.optimizer not in DEEPSPEED:
        yield f"{NAME} has no optimizer {run.schedule.optimizer} in this file: pass yours, {schedule_words(run)}"
    if kept is not Checkpointing.NONE:
        whole = "" if kept is Checkpointing.FULL else f", which recomputes whole layers ({kept.value} in the plan)"
        yield f"{NAME} does not turn on checkpointing: call model.gradient_checkpointing_enable(){whole}"
    if run.compiled:
        yield f"{NAME} does not compile by this file: call engine.compile() in your script"
    if run.precision.autocast:
        yield (
            f"{NAME} keeps {run.compute.value} weights with an fp32 copy instead of fp32 weights that are cast: a "
            "parameter needs as many bytes"
        )
    if run.compute in {NumberFormat.FP8, NumberFormat.FP4, NumberFormat.INT8}:
        yield f"{NAME} has no {run.compute.value} in this file: it has bf16; convert layers with Transformer Engine"
    elif not run.mixed and run.compute in {NumberFormat.BF16, NumberFormat.FP16}:
        yield f"{NAME} always keeps fp32 copies, which the plan does not have: it needs more memory than planned"
    elif run.compute is NumberFormat.TF32:
        yield f"{NAME} has no tf32 in this file: call torch.set_float32_matmul_precision('high')"
    if layout.pipeline > 1:
        yield f"{NAME} takes the {layout.pipeline} pipeline stages from deepspeed.pipe.PipelineModule in your script"
    if layout.interleave > 1 or layout.bidirectional:
        yield f"{NAME} has neither chunks nor both directions in a pipeline: its stages wait longer than planned"
    if layout.shard_group and run.shard_ranks < layout.data:
        yield f"{NAME} has no groups of {run.shard_ranks} ranks for all states in this file: all replicas share them"
    yield from expert_note(NAME, run)
    yield from method_notes(NAME, run)
