"""Other names of a specification's keys, as people and other tools write them. Names of models' own keys are in
`models.spellings`."""

from collections.abc import Iterator, Mapping
from functools import cache

from msgspec import Struct

from flyball_planner.models.spellings import plain


class Alias(Struct, frozen=True):
    """The key that a name means, and its words for values."""

    target: str  # with its section
    words: Mapping[str, object] | None = None  # values of this name, and of the key; None: as if not given
    weak: bool = False  # another key that means the same has precedence


SECTIONS: Mapping[str, str] = {
    "train": "training", "trainer": "training", "training_args": "training", "training_arguments": "training",
    "hyperparameters": "training", "hyper_parameters": "training", "hparams": "training",
    "device": "hardware", "gpu": "hardware", "accelerator": "hardware", "machine": "hardware", "cluster": "hardware",
    "compute": "hardware", "system": "hardware",
    "parallelism": "layout", "parallel": "layout", "distributed": "layout",
    "scaling": "scalability", "serving": "inference", "generation": "inference", "deployment": "inference",
    "data": "dataset", "dataloader": "loading", "data_loading": "loading",
    "reporting": "report", "output": "report", "pricing": "cost", "price": "cost",
}  # fmt: skip
"""Other names of sections. A section `dataset` has keys of the model and the training."""

GROUPS = frozenset({
    "spec", "specification", "params", "parameters", "config", "configuration", "architecture", "hyperparameters",
    "hyper_parameters", "hparams", "optimization", "optimizer", "optimiser", "scheduler", "lr_scheduler", "lora",
    "peft", "peft_config", "lora_config", "quantization_config", "bnb_config", "bitsandbytes", "zero_optimization",
    "args", "arguments", "options", "settings",
})  # fmt: skip
"""Names of groups whose keys belong to the section around them."""

_SAME: Mapping[str, str] = {
    # A key, and its other names.
    "title": "name experiment experiment_name run_name project",
    "training.batch_size": "batch global_batch_size global_batch train_batch_size total_batch_size minibatch_size "
                           "mini_batch_size batch_size_total",
    "training.sequence": "seq seq_len sequence_len seq_length sequence_length max_seq_len max_seq_length "
                         "context_length max_sequence_length context_size block_size max_length cutoff_len",
    "training.epochs": "num_epochs n_epochs max_epochs num_train_epochs train_epochs",
    "training.samples": "n n_samples num_samples dataset_size num_examples n_examples train_samples num_train_samples "
                        "num_train_examples",
    "training.tokens": "num_tokens n_tokens total_tokens train_tokens training_tokens max_tokens token_budget",
    "training.steps": "max_steps num_steps total_steps train_steps n_steps training_steps max_iters train_iters "
                      "iterations max_iterations",
    "training.optimizer": "optim optimiser optimization optimizer_name optimizer_type",
    "training.learning_rate": "lr max_lr peak_lr base_lr",
    "training.precision": "dtype torch_dtype number_format",
    "training.quantization": "quantisation quantize quantized bnb_quant quant",
    "training.virtual_tokens": "num_virtual_tokens",
    "training.bottleneck_width": "adapter_size reduction_width",
    "training.method": "finetuning_type tuning_type peft_type finetuning_method",
    "training.lora_rank": "lora_r rank r",
    "training.lora_targets": "target_modules lora_target lora_target_modules lora_modules",
    "training.compiled": "compile torch_compile use_compile",
    "training.attention": "attn_implementation attention_implementation attn attention_backend",
    "training.accumulation": "gradient_accumulation gradient_accumulation_steps grad_accum grad_accumulation "
                             "accumulate_grad_batches accumulation_steps grad_accum_steps",
    "hardware.devices": "parallel_devices num_devices n_devices device_count num_gpus n_gpus gpus gpu_count ngpus "
                        "number_of_gpus world_size count quantity",
    "hardware.devices_per_node": "devices_a_node gpus_per_node num_gpus_per_node n_gpus_per_node nproc_per_node "
                                 "gpus_per_machine",
    "hardware.nodes": "num_nodes n_nodes nnodes machines num_machines",
    "hardware.network": "interconnect fabric inter_node_network",
    "hardware.memory_gb": "vram vram_gb memory gpu_memory gpu_memory_gb device_memory device_memory_gb gpu_ram",
    "hardware.host_memory_gb": "ram ram_gb mem_gb system_memory_gb host_ram_gb cpu_memory_gb",
    "hardware.host_cores": "cpu_cores cores n_cores num_cores vcpus",
    "hardware.efficiency": "utilization utilisation efficiency_factor compute_efficiency mfu",
    "layout.tensor": "tensor_parallel tensor_parallel_size tensor_model_parallel_size tensor_parallel_degree tp "
                     "tp_size tp_degree",
    "layout.pipeline": "pipeline_parallel pipeline_parallel_size pipeline_model_parallel_size pp pp_size pp_degree "
                       "pipeline_parallel_degree pipeline_stages",
    "layout.context": "context_parallel context_parallel_size context_parallel_degree cp cp_size cp_degree",
    "layout.expert": "expert_parallel expert_parallel_size expert_parallel_degree expert_model_parallel_size ep "
                     "ep_size ep_degree",
    "layout.data": "data_parallel data_parallel_size dp dp_size dp_degree replicas",
    "inference.batch_size": "batch requests concurrency concurrent_requests",
    "inference.context": "context_length seq_len sequence sequence_length max_seq_len max_length max_tokens",
    "layout.interleave": "virtual_pipeline_stages vpp",
    "layout.micro_batch": "micro_batch_size",
    "scalability.devices": "device_counts device_count num_devices n_devices gpus gpu_counts num_gpus",
    "scalability.batch_sizes": "batch_size batches",
    "loading.workers": "num_workers n_workers",
    "cost.usd_per_device_hour": "cost_per_hour price_per_hour hourly_rate hourly_cost usd_per_hour usd_per_gpu_hour "
                                "cost_per_device_hour cost_per_gpu_hour price_per_gpu_hour gpu_hour_price",
    "cost.provider": "cloud cloud_provider",
    "cost.spot": "use_spot spot_instances preemptible",
    "report.format": "output_format type",
    "report.output": "output_file file path output_path",
    "report.plots": "include_plots include_charts charts",
    "report.recommendations": "include_recommendations",
    "report.verbose": "detailed_breakdown detailed include_details breakdown",
}  # fmt: skip

MODEL_NAMES = (
    "model_name", "model_id", "model_name_or_path", "pretrained_model", "pretrained_model_name_or_path", "base_model",
    "base_model_name_or_path",
)  # fmt: skip
"""Names of `model.name` that may also be at the top level of a file."""

ON, OFF = ("true", "yes", "on"), ("false", "no", "off", "none")


def _flag(word: object, off: object = None) -> dict[str, object]:
    """Return the words of a name that is true or false."""
    return {**dict.fromkeys(ON, word), **dict.fromkeys(OFF, off)}


STAGES = {"0": "none", "1": "zero1", "2": "zero2", "3": "zero3"}
_SHARDED = {
    **_flag("zero3"), **STAGES, "none": "none", "full_shard": "zero3", "shard_grad_op": "zero2", "no_shard": "none",
    "fsdp": "zero3",
    "fsdp2": "zero3", "ddp": "none", "auto": None, "deepspeed_stage_1": "zero1", "deepspeed_stage_2": "zero2",
    "deepspeed_stage_3": "zero3", "full_shard auto_wrap": "zero3",
}  # fmt: skip

_FLAGS: Mapping[str, Mapping[str, Alias]] = {
    # Names with words of their own. `choices` are restrictions of the search for a layout.
    "training": {
        "fp16": Alias("training.precision", _flag("fp16-autocast")),  # as in Hugging Face's TrainingArguments
        "bf16": Alias("training.precision", _flag("bf16-autocast")),
        "fp8": Alias("training.precision", _flag("fp8")),
        "tf32": Alias("training.precision", _flag("tf32"), weak=True),
        "amp": Alias("training.precision", _flag("fp16-autocast")),
        "use_amp": Alias("training.precision", _flag("fp16-autocast")),
        "mixed_precision": Alias(
            "training.precision",
            {**_flag("fp16-autocast"), "no": "fp32", "fp16": "fp16-autocast", "bf16": "bf16-autocast"},
        ),
        "flash_attention": Alias("training.attention", _flag("flash", "materialised")),
        "use_flash_attention": Alias("training.attention", _flag("flash", "materialised")),
        "use_flash_attn": Alias("training.attention", _flag("flash", "materialised")),
        "flash_attn": Alias("training.attention", _flag("flash", "materialised")),
        "use_lora": Alias("training.method", _flag("lora")),
        "lora": Alias("training.method", _flag("lora")),
        "per_device_train_batch_size": Alias("choices.micro_batch"),
        "per_device_batch_size": Alias("choices.micro_batch"),
        "per_gpu_batch_size": Alias("choices.micro_batch"),
        "batch_size_per_gpu": Alias("choices.micro_batch"),
        "batch_size_per_device": Alias("choices.micro_batch"),
        "micro_batch_size": Alias("choices.micro_batch"),
        "micro_batch": Alias("choices.micro_batch"),
        "local_batch_size": Alias("choices.micro_batch"),
        "train_micro_batch_size_per_gpu": Alias("choices.micro_batch"),
        "gradient_checkpointing": Alias("choices.checkpointing", _flag("full", "none")),
        "activation_checkpointing": Alias("choices.checkpointing", _flag("full", "none")),
        "checkpointing": Alias("choices.checkpointing", _flag("full", "none")),
        "zero_stage": Alias("choices.sharding", STAGES),
        "zero": Alias("choices.sharding", STAGES),
        "deepspeed_stage": Alias("choices.sharding", STAGES),
        "deepspeed": Alias("choices.sharding", STAGES),
        "stage": Alias("choices.sharding", STAGES),  # of zero_optimization
        "fsdp": Alias("choices.sharding", _SHARDED),
        "strategy": Alias("choices.sharding", _SHARDED),
    },
    "layout": {
        "gradient_checkpointing": Alias("layout.checkpointing", _flag("full", "none")),
        "activation_checkpointing": Alias("layout.checkpointing", _flag("full", "none")),
        "recompute": Alias("layout.checkpointing", _flag("full", "none")),
        "zero_stage": Alias("layout.sharding", STAGES),
        "zero": Alias("layout.sharding", STAGES),
        "fsdp": Alias("layout.sharding", _SHARDED),
        "strategy": Alias("layout.sharding", _SHARDED),
        "cpu_offload": Alias("layout.offload", _flag("parameters", "none")),
        "offload_optimizer": Alias("layout.offload", _flag("optimizer", "none")),
    },
    "model": {
        name: Alias("model.name", weak=True)
        for name in ("type", "kind", "model_type", "model", "family", "architecture", *MODEL_NAMES)
    },
    "hardware": {
        "name": Alias("hardware.device"),
        **{
            name: Alias("hardware.device", weak=True)
            for name in ("gpu", "gpu_type", "gpu_name", "device_name", "accelerator", "instance", "instance_type",
                         "profile", "model", "type", "kind")
        },
        "precision": Alias("training.precision"),
        "cost_per_hour": Alias("cost.usd_per_device_hour"),
        "price_per_hour": Alias("cost.usd_per_device_hour"),
    },
}  # fmt: skip

MOVED = (
    "optimizer", "learning_rate", "method", "lora_rank", "lora_targets", "compiled", "attention", "accumulation",
    "momentum", "quantization", "double_quantization", "load_in_4bit", "load_in_8bit", "bnb_4bit_quant_type",
    "bnb_4bit_use_double_quant", "bnb_4bit_compute_dtype", "virtual_tokens", "bottleneck_width",
)  # fmt: skip
"""Keys of the training that may also be in the section `model`."""

_IDLE = """
    description desc comment comments notes version author tags seed random_state random_seed task loss
    loss_function criterion metric metrics objective eval_metric weight_decay momentum_decay beta beta1 beta2 betas
    adam_beta1 adam_beta2 adam_epsilon eps epsilon scheduler lr_scheduler lr_scheduler_type lr_schedule lr_decay
    warmup warmup_steps warmup_ratio warmup_epochs min_lr max_grad_norm gradient_clipping gradient_clip_val
    grad_clip clip_grad clip_norm dropout dropout_rate label_smoothing early_stopping patience shuffle drop_last
    verbose regularization regularisation l1 l2 penalty alpha c gamma tol tolerance init initialization reg_lambda
    reg_alpha subsample colsample_bytree min_samples_split min_samples_leaf min_child_weight criterion bootstrap
    fit_intercept normalize standardize scaled whiten n_jobs class_weight kernel algorithm eta cache_size lora_alpha
    lora_dropout bias output_dir logging_dir logging_steps save_steps eval_steps save_strategy evaluation_strategy
    eval_strategy save_total_limit report_to push_to_hub resume_from_checkpoint validation_split test_size val_size
    split dataloader_num_workers num_workers dataloader_pin_memory pin_memory group_by_length packing
    ddp_find_unused_parameters logging wandb tensorboard tracking evaluation checkpoint checkpoints callbacks paths
    env environment debug profiler currency enabled driver cuda_version os source url path file cache_dir
    trust_remote_code tokenizer use_cache overlap_comm contiguous_gradients reduce_scatter reduce_bucket_size
    allgather_partitions allgather_bucket_size steps_per_print wall_clock_breakdown
"""
IDLE = frozenset(_IDLE.split())
"""Keys that do not change an estimate. They are listed among the assumptions."""

WORDS: Mapping[str, Mapping[str, object]] = {
    # Other words for the values of keys.
    "training.attention": {
        "flash_attention_2": "flash", "flash_attention_3": "flash", "flash_attention": "flash", "flash2": "flash",
        "flash-attn": "flash", "sdpa": "flash", "eager": "materialised", "standard": "materialised",
        "math": "materialised", "vanilla": "materialised", "true": "flash", "false": "materialised",
    },
    "training.optimizer": {
        # names of Hugging Face's OptimizerNames
        "adamw_torch": "adamw", "adamw_hf": "adamw", "adamw_torch_fused": "adamw-fused", "adamw_apex_fused":
        "adamw-fused", "adamw_bnb_8bit": "adamw-8bit", "adamw_8bit": "adamw-8bit", "paged_adamw_8bit":
        "adamw-8bit-paged", "lion_32bit": "lion", "sgd_momentum": "sgd-momentum", "nesterov": "sgd-momentum",
    },
    "training.method": {"full_finetuning": "full", "full-finetuning": "full", "finetune": "full", "pretrain": "full",
                        "pretraining": "full", "sft": "full"},
    "training.lora_targets": {f"{name}_proj": name for name in ("q", "k", "v", "o", "gate", "up", "down")},
    "layout.checkpointing": _flag("full", "none"),
    "layout.sharding": {**STAGES, **_SHARDED},
    "cost.provider": {"amazon": "aws", "google": "gcp", "microsoft": "azure"},
    "report.format": {"md": "markdown", "htm": "html", "text": "table", "txt": "table", "terminal": "table",
                      "console": "table"},
}  # fmt: skip


@cache
def aliases(section: str) -> Mapping[str, Alias]:
    """Return all other names that a section accepts; the empty section is the file's top level."""
    found = {
        name: Alias(target)
        for target, names in _SAME.items()
        if target.rpartition(".")[0] == section
        for name in names.split()
    }
    if section == "model":
        moved = {name: each for name, each in aliases("training").items() if each.target.partition(".")[2] in MOVED}
        flags = {name: each for name, each in _FLAGS["training"].items() if name not in {"micro_batch", "lora"}}
        found = {**moved, **{name: Alias(f"training.{name}") for name in MOVED}, **flags}
    return {**found, **_FLAGS.get(section, {})}


def words_of(target: str) -> Mapping[str, object]:
    """Return other words for the values of a key."""
    return WORDS.get(target, {})


def idle(name: str) -> bool:
    """Return True if a key does not change an estimate."""
    return plain(name) in IDLE


def names_of(section: str) -> Iterator[str]:
    """Yield all other names that a section accepts."""
    yield from aliases(section)
