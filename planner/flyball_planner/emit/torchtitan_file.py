"""torchtitan's TOML file, which its releases up to 0.2.2 read."""

from collections.abc import Iterator

from flyball_planner.catalogue.hardware import DeviceKind
from flyball_planner.emit.emission import Emission, EmittedFile
from flyball_planner.emit.emitted_run import EPSILON, KEPT_CHECKPOINTS, EmittedRun
from flyball_planner.emit.file_texts import toml_text
from flyball_planner.emit.optimizer_names import TORCHTITAN
from flyball_planner.emit.shared_notes import method_notes, schedule_words, without_file, workers_note
from flyball_planner.emit.torchrun_command import launch
from flyball_planner.emit.torchtitan_models import flavor_of
from flyball_planner.precision import NumberFormat
from flyball_planner.training import Checkpointing, Offload, Sharding

FILE = "torchtitan.toml"
NAME = "torchtitan"
USUAL_CHUNKS = 2  # of a stage in torchtitan's interleaved schedules


def torchtitan_file(run: EmittedRun) -> Emission:
    """Return the file; torchtitan trains transformers on GPUs."""
    if run.kind is not DeviceKind.GPU or run.shape is None:
        what = f"on {run.machine.device.name}" if run.shape is not None else "models other than transformers"
        return without_file(NAME, f"{NAME} does not train {what}, so no file is written")
    notes = tuple(_notes(run))
    head = (f"{run.title}: configuration of torchtitan 0.2.2, the last release that reads TOML.",)
    text = toml_text((*head, *notes), _sections(run))
    command = f"torchrun {launch(run)} -m torchtitan.train --job.config_file {FILE}"
    return Emission(NAME, (EmittedFile(FILE, text),), command, notes)


def _sections(run: EmittedRun) -> dict[str, dict[str, object]]:
    name, flavor = flavor_of(run.shape) or ("llama3", "debugmodel")
    kept = run.layout.checkpointing
    partial = kept in {Checkpointing.LIGHT, Checkpointing.SELECTIVE}
    return {
        "job": {"description": run.title},
        "model": {
            "name": name,
            "flavor": flavor,
            **({"converters": ["quantize.linear.float8"]} if _eight(run) else {}),
        },
        "optimizer": _optimizer(run),
        "lr_scheduler": {
            "warmup_steps": run.schedule.warm_up_steps,
            "decay_type": "cosine",
            "min_lr_factor": round(run.schedule.last_share, 6),
        },
        "training": _training(run),
        **({"training.dataloader": _loader(run)} if run.workers is not None else {}),
        "parallelism": _parallelism(run),
        "activation_checkpoint": {
            "mode": "selective" if partial else kept.value,
            **({"selective_ac_option": "op"} if partial else {}),
        },
        "compile": {"enable": run.compiled},
        "checkpoint": {"enable": True, "interval": run.checkpoint_steps, "keep_latest_k": KEPT_CHECKPOINTS},
    }


def _eight(run: EmittedRun) -> bool:
    return run.compute is NumberFormat.FP8


def _optimizer(run: EmittedRun) -> dict[str, object]:
    schedule = run.schedule
    return {
        "name": TORCHTITAN.get(schedule.optimizer, "AdamW"),
        "lr": schedule.learning_rate,
        "beta1": schedule.betas[0],
        "beta2": schedule.betas[1],
        "eps": EPSILON,
        "weight_decay": 0.0 if schedule.optimizer == "adam" else schedule.weight_decay,
        "implementation": "fused" if schedule.optimizer == "adamw-fused" else "foreach",
    }


def _training(run: EmittedRun) -> dict[str, object]:
    layout = run.layout
    staged = run.accumulation if layout.pipeline > 1 else 1  # a pipeline's batch is cut into its micro-batches
    return {
        "local_batch_size": layout.micro_batch * staged,
        "global_batch_size": run.global_batch,
        "seq_len": run.sequence or 1,
        "max_norm": run.schedule.gradient_clip,
        "steps": run.steps,
        "enable_cpu_offload": layout.offload is Offload.PARAMETERS,
        "dtype": "bfloat16" if run.compute is NumberFormat.BF16 and not run.mixed else "float32",
        "mixed_precision_param": "float32" if run.compute in {NumberFormat.FP32, NumberFormat.TF32} else "bfloat16",
        "mixed_precision_reduce": "float32",
    }


def _loader(run: EmittedRun) -> dict[str, object]:
    prefetched: dict[str, object] = {"prefetch_factor": run.prefetch} if run.workers and run.prefetch else {}
    return {"num_workers": run.workers, **prefetched}


def _parallelism(run: EmittedRun) -> dict[str, object]:
    layout = run.layout
    shards = run.shard_ranks if run.stage or _must_shard(run) else 1
    found: dict[str, object] = {
        "data_parallel_replicate_degree": layout.data // shards,
        "data_parallel_shard_degree": shards,
        "fsdp_reshard_after_forward": "always" if layout.sharding is Sharding.ZERO3 else "never",
        "tensor_parallel_degree": layout.tensor,
        "context_parallel_degree": layout.context,
        "expert_parallel_degree": layout.expert,
        "pipeline_parallel_degree": layout.pipeline,
    }
    return found | (_pipeline(run) if layout.pipeline > 1 else {})


def _pipeline(run: EmittedRun) -> dict[str, object]:
    """Return the schedule with the stages of the plan: equal, or shorter at both ends if that makes them even."""
    layout, layers = run.layout, run.shape.layers if run.shape else 0
    stages = layout.pipeline * layout.interleave
    less = 1 if layers % stages and not (layers + 2) % stages else 0
    found: dict[str, object] = {
        "pipeline_parallel_schedule": "Interleaved1F1B" if layout.interleave > 1 else "1F1B",
        "pipeline_parallel_microbatch_size": layout.micro_batch,
        "pipeline_parallel_first_stage_less_layers": less,
        "pipeline_parallel_last_stage_less_layers": less,
    }
    if layout.interleave > USUAL_CHUNKS:
        found["pipeline_parallel_layers_per_stage"] = -(-(layers + 2 * less) // stages)
    return found


def _must_shard(run: EmittedRun) -> bool:
    """Return True if torchtitan cannot replicate: its DDP excludes other parallelism, and offloading is FSDP's."""
    layout = run.layout
    others = layout.tensor > 1 or layout.context > 1 or layout.pipeline > 1 or layout.expert > 1
    return not run.stage and layout.data > 1 and (others or layout.offload is Offload.PARAMETERS)


def _notes(run: EmittedRun) -> Iterator[str]:
    yield from _model_notes(run)
    schedule, layout = run.schedule, run.layout
    if schedule.optimizer not in TORCHTITAN:
        yield f"{NAME} has no optimizer {schedule.optimizer}: the file has AdamW; the plan has {schedule_words(run)}"
    if layout.sharding is Sharding.ZERO1:
        yield f"{NAME} has no ZeRO-1: gradients are sharded too (as in ZeRO-2), which needs less memory"
    if _must_shard(run):
        yield f"{NAME} has no replicas beside other parallelism: the states are sharded instead, which saves memory"
    if layout.bidirectional:
        yield f"{NAME} has no pipeline of both directions in this file: its 1F1B schedule waits longer, in less memory"
    if layout.checkpointing is Checkpointing.LIGHT:
        yield f"{NAME} has no light checkpointing: every second product is recomputed instead, which is slower"
    if layout.offload is Offload.OPTIMIZER:
        yield f"{NAME} has no offloading of only the optimizer: enable_cpu_offload moves the weights too, and is off"
    yield from workers_note(NAME, run)
    if run.compute is NumberFormat.FP16:
        yield f"{NAME} has no fp16: the file has bfloat16, which needs a GPU that supports it"
    elif run.compute in {NumberFormat.FP4, NumberFormat.INT8}:
        yield f"{NAME} has no {run.compute.value} in this file: it has bfloat16"
    elif run.precision.master:
        yield f"{NAME} keeps the weights in fp32 and casts them: a parameter needs as many bytes as in the plan"
    yield from method_notes(NAME, run)


def _model_notes(run: EmittedRun) -> Iterator[str]:
    shape = run.shape
    if shape is not None and flavor_of(shape) is None:
        yield (
            f"{NAME} has no flavor with {shape.layers} layers of {shape.hidden}, {shape.heads} heads, {shape.kv_heads} "
            f"key-value heads, a feed-forward width of {shape.ffn} and a vocabulary of {shape.vocab:,}: register one, "
            "and write its name in place of debugmodel"
        )
    yield f"{NAME} takes the data set and the tokenizer from training.dataset and model.hf_assets_path: set both"
