"""The real packages load the emitted files, and their fields agree with the plan."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from flyball_planner.emit.emitted_run import EmittedRun
from flyball_planner.emit.frameworks import emit, texts
from flyball_planner.emit.sharding_engine import ShardingEngine, deepspeed_stage, engine_of
from flyball_planner.emit.torchtitan_models import flavor_of
from flyball_planner.training import Checkpointing, Offload, Sharding
from tests.planner.emit.emitted_plans import PLANS, run_configured, run_named

Fields = dict[str, dict[str, Any]]
RUNS = {name: run_named(name) for name in PLANS} | {"configured": run_configured()}


def missing(package: str) -> pytest.MarkDecorator:
    """Skip a test whose package is not installed."""
    return pytest.mark.skipif(importlib.util.find_spec(package) is None, reason=f"{package} is missing")


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Fields]:
    """Emit every plan, and load all files in one process."""
    root = tmp_path_factory.mktemp("emitted")
    for name, run in RUNS.items():
        (root / name).mkdir()
        for file, text in texts(run, emit(run)).items():
            (root / name / file).write_text(text, encoding="utf-8")
    script = str(Path(__file__).with_name("loaded_files.py"))
    ended = subprocess.run(
        [sys.executable, script, str(root)],
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert ended.returncode == 0, ended.stderr[-3000:]
    found: dict[str, Fields] = json.loads(ended.stdout.splitlines()[-1])
    return found


def fields(loaded: dict[str, Fields], package: str) -> dict[str, tuple[EmittedRun, dict[str, Any]]]:
    """Return the loaded fields of one package, by plan, with the run that they must agree with."""
    found = {name: (RUNS[name], each[package]) for name, each in loaded.items() if package in each}
    assert found
    return found


@missing("transformers")
def test_transformers_takes_batch_length_and_precision(loaded: dict[str, Fields]) -> None:
    """Micro-batch × accumulation × replicas is the global batch; steps, formats and workers are those of the plan."""
    for run, found in fields(loaded, "transformers").values():
        micro, accumulated = found["per_device_train_batch_size"], found["gradient_accumulation_steps"]
        assert micro * accumulated * run.layout.data == run.global_batch
        assert micro == run.layout.micro_batch
        assert found["max_steps"] == run.steps
        assert found["bf16"] is (run.compute.value == "bf16")
        assert found["fp16"] is (run.compute.value == "fp16")
        assert found["torch_compile"] is run.compiled
        assert found["save_steps"] == run.checkpoint_steps
        assert found["dataloader_num_workers"] == (run.workers or 0)


@missing("transformers")
def test_transformers_follows_the_learning_rate_of_the_plan(loaded: dict[str, Fields]) -> None:
    """Its scheduler starts at zero, reaches the rate after the warm-up, and ends at the last rate."""
    for run, found in fields(loaded, "transformers").values():
        schedule = run.schedule
        assert found["rates"] == pytest.approx([0, schedule.learning_rate, schedule.last_learning_rate], rel=1e-4)
        assert found["weight_decay"] == schedule.weight_decay
        assert found["max_grad_norm"] == schedule.gradient_clip
        assert (found["adam_beta1"], found["adam_beta2"]) == schedule.betas
        assert found["optim"] == {"adamw-fused": "adamw_torch_fused", "sgd-momentum": "sgd"}.get(
            schedule.optimizer, "adamw_torch"
        )


@missing("transformers")
def test_transformers_shards_as_planned(loaded: dict[str, Fields]) -> None:
    """FSDP's plugin reshards for ZeRO-3 and not for ZeRO-2, offloads weights, and checkpoints once."""
    for run, found in fields(loaded, "transformers").values():
        engine, full = engine_of(run), run.layout.checkpointing is Checkpointing.FULL
        assert ("plugin" in found) is (engine is ShardingEngine.FSDP)
        assert (found["deepspeed"] is not None) is (engine is ShardingEngine.DEEPSPEED)
        if engine is ShardingEngine.FSDP:
            assert found["plugin"] == {
                "version": 2,
                "reshard": run.layout.sharding is not Sharding.ZERO2,
                "offloads": run.layout.offload is Offload.PARAMETERS,
                "checkpointing": full,
            }
        once = run.layout.checkpointing is not Checkpointing.NONE
        assert once is (found["activation_checkpointing"] or found.get("plugin", {}).get("checkpointing", False))


@missing("transformers")
def test_transformers_builds_the_model_of_the_plan(loaded: dict[str, Fields]) -> None:
    """A Llama of its own dimensions is `config.json`, whose model has exactly the parameters of the plan."""
    found = fields(loaded, "model")
    assert set(found) == {"shape", "configured"}
    for run, model in found.values():
        assert model == {"parameters": run.parameters, "name": "LlamaForCausalLM"}


@missing("accelerate")
def test_accelerate_launches_the_planned_processes(loaded: dict[str, Fields]) -> None:
    """Processes, nodes, sharding and the sizes of the process groups are those of the layout."""
    for run, found in fields(loaded, "accelerate").values():
        engine, layout = engine_of(run), run.layout
        assert found["num_processes"] == run.machine.devices
        assert found["num_machines"] == run.machine.nodes
        assert found["use_fsdp"] is (engine is ShardingEngine.FSDP)
        assert found["use_deepspeed"] is (engine is ShardingEngine.DEEPSPEED)
        if engine is not ShardingEngine.DEEPSPEED:
            assert found["mixed_precision"] == (run.compute.value if run.mixed else "no")
        if engine is ShardingEngine.FSDP:
            assert found["fsdp_version"] == 2
            assert (
                str(found["fsdp_reshard_after_forward"]).lower() == str(layout.sharding is not Sharding.ZERO2).lower()
            )
            assert str(found["fsdp_offload_params"]).lower() == str(layout.offload is Offload.PARAMETERS).lower()
        if layout.tensor > 1 or layout.context > 1:
            assert found["parallelism_config_tp_size"] == layout.tensor
            assert found["parallelism_config_cp_size"] == layout.context
            sizes = [found[f"parallelism_config_{name}_size"] for name in ("dp_replicate", "dp_shard", "tp", "cp")]
            assert sizes[0] * sizes[1] * sizes[2] * sizes[3] == run.machine.devices


@missing("accelerate")
def test_accelerate_reads_the_file_of_deepspeed(loaded: dict[str, Fields]) -> None:
    """The plugin has the stage, the accumulation, the clipping and the offloading of the plan."""
    for run, found in fields(loaded, "plugin").values():
        weights = run.layout.offload is Offload.PARAMETERS
        assert found == {
            "stage": deepspeed_stage(run),
            "accumulation": run.accumulation,
            "clipping": run.schedule.gradient_clip,
            "optimizer_on": "cpu" if run.offloads_states else "none",
            "weights_on": "cpu" if weights else "none",
        }


@missing("deepspeed")
def test_deepspeed_takes_its_file(loaded: dict[str, Fields]) -> None:
    """Its configuration has the batch, the stage, the optimizer and the schedule of the plan."""
    for run, found in fields(loaded, "deepspeed").values():
        assert found["batch"] == run.global_batch
        assert found["micro_batch"] * found["accumulation"] * run.layout.data == run.global_batch
        assert found["ranks"] == run.layout.data
        assert found["stage"] == deepspeed_stage(run)
        assert found["clipping"] == run.schedule.gradient_clip
        assert found["optimizer_values"]["lr"] == run.schedule.learning_rate
        assert found["scheduler"] == "WarmupCosineLR"
        assert found["scheduler_values"]["total_num_steps"] == run.steps
        assert found["scheduler_values"]["warmup_num_steps"] == run.schedule.warm_up_steps


@missing("torchtitan")
def test_torchtitan_takes_its_file(loaded: dict[str, Fields]) -> None:
    """All degrees multiply to the devices; batch, sequence, steps and the schedule are those of the plan."""
    for run, found in fields(loaded, "torchtitan").values():
        groups, trained, layout = found["parallelism"], found["training"], run.layout
        degrees = (
            "data_parallel_replicate",
            "data_parallel_shard",
            "tensor_parallel",
            "context_parallel",
            "pipeline_parallel",
        )
        product = 1
        for name in degrees:
            product *= groups[f"{name}_degree"]
        assert product == run.machine.devices
        assert groups["tensor_parallel_degree"] == layout.tensor
        assert groups["context_parallel_degree"] == layout.context
        assert groups["pipeline_parallel_degree"] == layout.pipeline
        assert trained["global_batch_size"] == run.global_batch
        staged = run.accumulation if layout.pipeline > 1 else 1
        assert trained["local_batch_size"] == layout.micro_batch * staged
        assert (trained["seq_len"], trained["steps"]) == (run.sequence, run.steps)
        assert found["activation_checkpoint"]["mode"] == layout.checkpointing.value
        assert found["compile"]["enable"] is run.compiled
        assert found["optimizer"]["lr"] == run.schedule.learning_rate
        assert found["lr_scheduler"]["warmup_steps"] == run.schedule.warm_up_steps
        assert found["lr_scheduler"]["min_lr_factor"] == pytest.approx(run.schedule.last_share)


@missing("torchtitan")
def test_torchtitan_has_the_named_flavors(loaded: dict[str, Fields]) -> None:
    """A known model gets torchtitan's own name, and any other one a placeholder."""
    for run, found in fields(loaded, "torchtitan").values():
        assert (found["model"]["name"], found["model"]["flavor"]) == (flavor_of(run.shape) or ("llama3", "debugmodel"))
    assert loaded["llama"]["torchtitan"]["model"]["flavor"] == "8B"


@missing("lightning")
def test_lightning_builds_its_trainer(loaded: dict[str, Fields]) -> None:
    """Steps, accumulation, precision, devices, nodes and checkpoints are those of the plan."""
    for run, found in fields(loaded, "lightning").values():
        assert found["max_steps"] == run.steps
        assert found["saves"] == run.checkpoint_steps
        assert found["accumulation"] * run.layout.micro_batch * run.layout.data == run.global_batch
        assert found["devices"] * found["nodes"] == run.machine.devices
        width = {"bf16": "bf16", "fp16": "16", "fp32": "32"}[run.compute.value]
        precision = f"{width}-{'mixed' if run.mixed else 'true'}"
        assert found["precision"] == precision
        assert found["built"] == precision.replace("16-mixed", "bf16-mixed").replace("bfbf", "bf")  # fp16 needs a GPU
        assert found["accelerator"] == run.kind.value
        assert found["clipping"] in {run.schedule.gradient_clip, None}
        assert (found["clipping"] is None) is (found["strategy"] == "FSDPStrategy")
        assert found["optimizer"]["lr"] == run.schedule.learning_rate
        assert found["optimizer"]["weight_decay"] == run.schedule.weight_decay


@missing("lightning")
def test_lightning_shards_as_planned(loaded: dict[str, Fields]) -> None:
    """Its strategy is built with the sharding, the stage and the offloading of the layout."""
    names = {
        ShardingEngine.ALONE: "auto",
        ShardingEngine.REPLICAS: "ddp",
        ShardingEngine.FSDP: "FSDPStrategy",
        ShardingEngine.DEEPSPEED: "DeepSpeedStrategy",
    }
    for run, found in fields(loaded, "lightning").values():
        layout, engine = run.layout, engine_of(run)
        assert found["strategy"] == ("ModelParallelStrategy" if layout.tensor > 1 else names[engine])
        if found["strategy"] == "FSDPStrategy":
            assert found["sharding"] == ("SHARD_GRAD_OP" if layout.sharding is Sharding.ZERO2 else "FULL_SHARD")
            assert found["offloads"] is (layout.offload is Offload.PARAMETERS)
        if found["strategy"] == "DeepSpeedStrategy":
            assert found["arguments"]["stage"] == deepspeed_stage(run)


@missing("torch")
def test_torchrun_starts_the_planned_processes(tmp_path: Path) -> None:
    """Each process gets the settings as arguments, and the world has as many ranks as the plan has devices."""
    run = RUNS["offloaded-weights"]
    (file,) = emit(run, ["torchrun"])[0].files
    (tmp_path / file.name).write_text(file.text, encoding="utf-8")
    script = tmp_path / "train.py"
    kept = "open(os.environ['RANK'] + '.txt', 'w').write(' '.join([os.environ['WORLD_SIZE'], *sys.argv[1:]]))"
    script.write_text(f"import os, sys\n{kept}\n", encoding="utf-8")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    ended = subprocess.run(
        ["bash", file.name],
        cwd=tmp_path,
        env=os.environ | {"PATH": path, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert ended.returncode == 0, ended.stderr[-2000:]
    lines = [path.read_text(encoding="utf-8").split() for path in tmp_path.glob("*.txt")]
    assert len(lines) == run.machine.devices
    for world, *words in lines:
        given = dict(zip(words[::2], words[1::2], strict=True))
        assert int(world) == run.machine.devices
        assert int(given["--micro-batch"]) * int(given["--accumulation"]) * run.layout.data == run.global_batch
        assert float(given["--learning-rate"]) == pytest.approx(run.schedule.learning_rate, rel=1e-5)
        assert given["--sharding"] == run.layout.sharding.value
