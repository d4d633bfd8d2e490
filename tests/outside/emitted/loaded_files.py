"""Loads emitted files with the packages that they are for, in a process of its own, and prints the fields as JSON.

Each folder of the first argument has the files of one plan. A package that is missing is left out.
"""

# ruff: noqa: PLC0415  a package is imported only if its file is loaded and it is installed

import dataclasses
import importlib
import importlib.util
import json
import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml


def transformers_fields(folder: Path) -> dict[str, Any]:
    """Load `TrainingArguments`, the plugin of FSDP, and the learning rates of the schedule."""
    import torch
    from transformers import HfArgumentParser, TrainingArguments, get_scheduler

    values = yaml.safe_load((folder / "transformers.yaml").read_text(encoding="utf-8"))
    deepspeed = values.pop("deepspeed", None)  # without the package, transformers refuses even to read its file
    values |= {"use_cpu": True, "output_dir": str(folder / "out")}
    (arguments,) = HfArgumentParser(TrainingArguments).parse_dict(values)
    found: dict[str, Any] = {
        each.name: value
        for each in dataclasses.fields(arguments)
        if isinstance(value := getattr(arguments, each.name), bool | int | float | str | dict)
    }
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=arguments.learning_rate)
    schedule = get_scheduler(
        arguments.lr_scheduler_type,
        optimizer,
        num_warmup_steps=arguments.get_warmup_steps(arguments.max_steps),
        num_training_steps=arguments.max_steps,
        scheduler_specific_kwargs=arguments.lr_scheduler_kwargs,
    )
    (shape,) = schedule.lr_lambdas
    warm = int(arguments.get_warmup_steps(arguments.max_steps))
    found["rates"] = [arguments.learning_rate * shape(step) for step in (0, warm, arguments.max_steps)]
    found["optim"], found["deepspeed"] = arguments.optim.value, deepspeed
    if arguments.fsdp_plugin_args:
        found["plugin"] = _plugin(arguments.fsdp_plugin_args)
    return found


def model_fields(folder: Path) -> dict[str, Any]:
    """Build the model of `config.json` without memory for its weights."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(folder))
    return {"parameters": model.num_parameters(), "name": type(model).__name__}


def _plugin(values: dict[str, Any]) -> dict[str, Any]:
    from accelerate import FullyShardedDataParallelPlugin

    plugin = FullyShardedDataParallelPlugin(**values)
    return {
        "version": plugin.fsdp_version,
        "reshard": plugin.reshard_after_forward,
        "offloads": type(plugin.cpu_offload).__name__ == "CPUOffloadPolicy",
        "checkpointing": plugin.activation_checkpointing,
    }


def accelerate_fields(folder: Path) -> dict[str, Any]:
    """Load the file as `accelerate launch` does, with all its defaults."""
    from accelerate.commands.launch import _validate_launch_command, launch_command_parser

    words = ["--config_file", str(folder / "accelerate.yaml"), "train.py"]
    arguments, *_ = _validate_launch_command(launch_command_parser().parse_args(words))
    return {name: value for name, value in vars(arguments).items() if isinstance(value, bool | int | float | str)}


def plugin_fields(folder: Path) -> dict[str, Any]:
    """Load DeepSpeed's file into the plugin of accelerate, which does not need DeepSpeed."""
    from accelerate import DeepSpeedPlugin

    plugin = DeepSpeedPlugin(hf_ds_config=str(folder / "deepspeed.json"))
    return {
        "stage": plugin.zero_stage,
        "accumulation": plugin.gradient_accumulation_steps,
        "clipping": plugin.gradient_clipping,
        "optimizer_on": plugin.offload_optimizer_device,
        "weights_on": plugin.offload_param_device,
    }


def deepspeed_fields(folder: Path) -> dict[str, Any]:
    """Load DeepSpeed's own configuration, with as many ranks as its batch implies."""
    import deepspeed.comm
    import torch.distributed
    from deepspeed.runtime.config import DeepSpeedConfig
    from torch.testing._internal.distributed.fake_pg import FakeStore

    values = json.loads((folder / "deepspeed.json").read_text(encoding="utf-8"))
    ranks = values["train_batch_size"] // (
        values["train_micro_batch_size_per_gpu"] * values["gradient_accumulation_steps"]
    )
    torch.distributed.init_process_group("fake", store=FakeStore(), rank=0, world_size=ranks)
    deepspeed.comm.comm.cdb = None  # of the plan before
    deepspeed.comm.init_distributed("fake", auto_mpi_discovery=False, verbose=False)
    try:
        config = DeepSpeedConfig(str(folder / "deepspeed.json"))
    finally:
        torch.distributed.destroy_process_group()
    return {
        "batch": config.train_batch_size,
        "micro_batch": config.train_micro_batch_size_per_gpu,
        "accumulation": config.gradient_accumulation_steps,
        "clipping": config.gradient_clipping,
        "stage": config.zero_optimization_stage,
        "optimizer": config.optimizer_name,
        "optimizer_values": config.optimizer_params,
        "scheduler": config.scheduler_name,
        "scheduler_values": config.scheduler_params,
        "ranks": ranks,
    }


def torchtitan_fields(folder: Path) -> dict[str, Any]:
    """Load torchtitan's job configuration from the TOML file."""
    from torchtitan.config import ConfigManager

    job = ConfigManager().parse_args(["--job.config_file", str(folder / "torchtitan.toml")])
    return dataclasses.asdict(job)


def lightning_fields(folder: Path) -> dict[str, Any]:
    """Build the trainer on a CPU, and its strategy alone, because FSDP refuses a CPU."""
    from lightning.pytorch import Trainer

    values = yaml.safe_load((folder / "lightning.yaml").read_text(encoding="utf-8"))
    wanted = values["trainer"]
    found = _strategy(wanted["strategy"])
    on_processor = wanted | {
        "accelerator": "cpu",
        "strategy": "ddp" if found["strategy"] != "auto" else "auto",
        "callbacks": [_named(each["class_path"])(**each["init_args"]) for each in wanted["callbacks"]],
    }
    trainer = Trainer(**on_processor, logger=False, enable_progress_bar=False)
    return found | {
        "accelerator": wanted["accelerator"],
        "max_steps": trainer.max_steps,
        "accumulation": trainer.accumulate_grad_batches,
        "clipping": trainer.gradient_clip_val,
        "devices": trainer.num_devices,
        "nodes": trainer.num_nodes,
        "precision": wanted["precision"],
        "built": trainer.precision,
        "optimizer": _optimizer(values.get("optimizer")),
        "saves": vars(trainer.checkpoint_callback)["_every_n_train_steps"],
    }


def _strategy(wanted: str | dict[str, Any]) -> dict[str, Any]:
    if isinstance(wanted, str):
        return {"strategy": wanted}
    if wanted["class_path"].endswith("DeepSpeedStrategy") and importlib.util.find_spec("deepspeed") is None:
        return {"strategy": "DeepSpeedStrategy", "arguments": wanted["init_args"]}
    made = _named(wanted["class_path"])(**wanted["init_args"])
    found = {"strategy": type(made).__name__, "arguments": wanted["init_args"]}
    if hasattr(made, "sharding_strategy"):
        found["sharding"] = made.sharding_strategy.name
        found["offloads"] = bool(made.cpu_offload and made.cpu_offload.offload_params)
    return found


def _optimizer(section: dict[str, Any] | None) -> dict[str, Any]:
    import torch

    if section is None:
        return {}
    made = _named(section["class_path"])([torch.nn.Parameter(torch.zeros(1))], **section["init_args"])
    return {"name": type(made).__name__, **{key: made.defaults[key] for key in section["init_args"]}}


def _named(path: str) -> Callable[..., Any]:
    module, _, name = path.rpartition(".")
    found: Callable[..., Any] = getattr(importlib.import_module(module), name)
    return found


LOADERS: dict[str, tuple[str, str, Callable[[Path], dict[str, Any]]]] = {
    "transformers": ("transformers", "transformers.yaml", transformers_fields),
    "model": ("transformers", "config.json", model_fields),
    "accelerate": ("accelerate", "accelerate.yaml", accelerate_fields),
    "plugin": ("accelerate", "deepspeed.json", plugin_fields),
    "deepspeed": ("deepspeed", "deepspeed.json", deepspeed_fields),
    "torchtitan": ("torchtitan", "torchtitan.toml", torchtitan_fields),
    "lightning": ("lightning", "lightning.yaml", lightning_fields),
}


def main() -> None:
    """Load all files of all folders."""
    warnings.simplefilter("ignore")
    os.environ["HF_HUB_OFFLINE"] = "1"
    found: dict[str, dict[str, Any]] = {}
    for folder in sorted(Path(sys.argv[1]).iterdir()):
        os.chdir(folder)
        found[folder.name] = {
            name: load(folder)
            for name, (package, file, load) in LOADERS.items()
            if importlib.util.find_spec(package) and (folder / file).exists()
        }
    print(json.dumps(found, default=str))


if __name__ == "__main__":
    main()
