"""Tests of emitted configurations without the packages that load them: notes, files and refusals."""

import json
import tomllib

import pytest
import yaml
from msgspec.structs import replace

from flyball_planner.catalogue.machines import machine
from flyball_planner.configurations.configure import configure
from flyball_planner.emit.frameworks import EMITTERS, PAGE, emit, texts
from flyball_planner.emit.run_sources import run_of_configuration, run_of_plan
from flyball_planner.plan.make import make_plan
from flyball_planner.specification.reader import read_specification
from flyball_planner.training import Checkpointing
from flyball_reports.errors import InputError
from tests.planner.emit.emitted_plans import PLANS, run_named


@pytest.mark.parametrize("name", PLANS)
def test_every_framework_writes_a_file_or_states_why_not(name: str) -> None:
    """A framework without a file has a note with its name, and the page repeats every note."""
    run = run_named(name)
    emissions = emit(run)
    page = texts(run, emissions)[PAGE]
    for each in emissions:
        assert bool(each.files) is bool(each.command)
        assert each.files or any(
            note.startswith(each.framework) and "no file is written" in note for note in each.notes
        )
        assert all(note in page for note in each.notes)


@pytest.mark.parametrize("name", PLANS)
def test_notes_are_comments_in_the_file(name: str) -> None:
    """Formats with comments have each note in their first lines; JSON has none and stays valid."""
    for each in emit(run_named(name)):
        for file in each.files:
            if file.name.endswith(".json"):
                assert json.loads(file.text)
                continue
            comments = " ".join(line.removeprefix("# ") for line in file.text.splitlines() if line.startswith("# "))
            if file.name.startswith(each.framework):
                assert all(note in comments for note in each.notes), file.name


@pytest.mark.parametrize("name", PLANS)
def test_the_files_are_valid(name: str) -> None:
    """YAML and TOML are read back by their own parsers."""
    for file, text in texts(run_named(name), emit(run_named(name))).items():
        if file.endswith(".yaml"):
            assert isinstance(yaml.safe_load(text), dict)
        if file.endswith(".toml"):
            assert tomllib.loads(text)["training"]


def test_what_a_framework_cannot_distribute_gets_no_file() -> None:
    """A pipeline would multiply the global batch of a framework without one; torchtitan and DeepSpeed have it."""
    files = {each.framework: bool(each.files) for each in emit(run_named("pipeline"))}
    assert files == {
        "transformers": False,
        "accelerate": False,
        "deepspeed": True,
        "torchtitan": True,
        "lightning": False,
        "torchrun": True,
    }


@pytest.mark.parametrize(
    ("plan", "framework", "words"),
    [
        ("zero1", "torchtitan", "torchtitan has no ZeRO-1"),
        ("zero2", "torchtitan", "torchtitan has no fp16"),
        ("zero2", "transformers", "every second layer is recomputed instead"),
        ("zero3", "lightning", "has no clipping by norm with FSDP"),
        ("replicas", "accelerate", "pass --gradient_accumulation_steps"),
        ("replicas", "transformers", "workers of the data loader are not part of the plan"),
        ("images", "torchtitan", "does not train models other than transformers"),
        ("processor", "torchtitan", "does not train on"),
        ("pipeline", "deepspeed", "takes the 4 pipeline stages"),
        ("offloaded-states", "torchtitan", "no offloading of only the optimizer"),
    ],
)
def test_what_is_lost_is_noted(plan: str, framework: str, words: str) -> None:
    """Each setting that a framework cannot express has a note."""
    (emission,) = emit(run_named(plan), [framework])
    assert any(words in note for note in emission.notes)


def test_a_pipeline_has_equal_stages() -> None:
    """torchtitan would otherwise give the first and the last stage a layer less than the plan does."""
    (emission,) = emit(run_named("pipeline"), ["torchtitan"])
    groups = tomllib.loads(emission.files[0].text)["parallelism"]
    assert groups["pipeline_parallel_degree"] == 4
    assert groups["pipeline_parallel_first_stage_less_layers"] == 0
    assert groups["pipeline_parallel_last_stage_less_layers"] == 0
    assert tomllib.loads(emission.files[0].text)["training"]["local_batch_size"] == 32


def test_a_pipeline_may_have_shorter_ends() -> None:
    """Ten layers over four stages are two at both ends and three between, if the ends count one layer more."""
    run = run_named("pipeline")
    assert run.shape is not None
    (emission,) = emit(replace(run, shape=replace(run.shape, layers=10)), ["torchtitan"])
    groups = tomllib.loads(emission.files[0].text)["parallelism"]
    assert groups["pipeline_parallel_first_stage_less_layers"] == 1
    assert groups["pipeline_parallel_last_stage_less_layers"] == 1


def test_needed_files_are_written_too() -> None:
    """Arguments that name DeepSpeed's file, or need accelerate's process groups, come with it."""
    names = {
        plan: {file.name for file in emit(run_named(plan), ["transformers"])[0].files} for plan in ("zero1", "tensor")
    }
    assert names == {
        "zero1": {"transformers.yaml", "deepspeed.json"},
        "tensor": {"transformers.yaml", "accelerate.yaml"},
    }


def test_a_configuration_is_emitted_with_its_own_numbers() -> None:
    """Batch, steps, learning rate and workers of the three configurations reach the files; pauses are noted."""
    for each in configure(machine("RTX_4090_fp16")):
        run = run_of_configuration(each, read_specification(each.specification))
        training = each.training
        assert run.layout.micro_batch * run.accumulation * run.layout.data == training.global_batch
        found = yaml.safe_load(texts(run, emit(run))["transformers.yaml"])
        assert found["max_steps"] == training.steps
        assert found["learning_rate"] == training.learning_rate
        assert found["warmup_steps"] == training.warm_up_steps
        assert found["dataloader_num_workers"] == training.loader_workers
        notes = emit(run, ["transformers"])[0].notes
        assert any("has no pauses" in note for note in notes) is (training.pause_seconds_per_step > 0)


def test_adapters_are_noted_everywhere() -> None:
    """No framework's file has LoRA, so each one notes the rank and the layers."""
    specification = read_specification(
        "model: llama-3.1-8b\nhardware: RTX_4090_fp16\n"
        "training: {batch_size: 8, sequence: 512, steps: 100, method: qlora, lora_rank: 16}\n"
    )
    for each in emit(run_of_plan(specification, make_plan(specification))):
        assert any("has no adapters" in note and "of rank 16" in note for note in each.notes), each.framework


def test_models_without_optimizer_steps_are_refused() -> None:
    """A decision tree has no configuration in these frameworks."""
    specification = read_specification(
        "model: {name: decision_tree, n: 1000, d: 10}\nhardware: CPU_8C_3.5Ghz_baseline\n"
    )
    with pytest.raises(InputError, match="is not trained in optimizer steps"):
        run_of_plan(specification, make_plan(specification))


def test_every_emitter_has_its_name() -> None:
    """The name in the list is the one in the emission."""
    assert [each.framework for each in emit(run_named("alone"))] == list(EMITTERS)


def test_deepspeed_has_the_tensor_parallelism_of_the_trainer() -> None:
    """With ZeRO-1, no file of accelerate is named, which has no tensor parallelism beside DeepSpeed."""
    (emission,) = emit(run_named("tensor-zero1"), ["transformers"])
    files = {file.name: file.text for file in emission.files}
    assert set(files) == {"transformers.yaml", "deepspeed.json"}
    assert json.loads(files["deepspeed.json"])["tensor_parallel"] == {"autotp_size": 2}
    assert "accelerate.yaml" not in files["transformers.yaml"] + emission.command


def test_what_torchtitan_cannot_write_of_a_layout_is_a_note() -> None:
    """Light checkpointing and both directions of a pipeline become the nearest setting, and a note states it."""
    run = run_named("tensor-zero1")
    layout = replace(run.layout, tensor=1, pipeline=2, bidirectional=True, checkpointing=Checkpointing.LIGHT)
    (emission,) = emit(replace(run, layout=layout), ["torchtitan"])
    file = tomllib.loads(emission.files[0].text)
    assert file["activation_checkpoint"] == {"mode": "selective", "selective_ac_option": "op"}
    assert file["parallelism"]["pipeline_parallel_schedule"] == "1F1B"
    assert [words in " ".join(emission.notes) for words in ("light checkpointing", "both directions")] == [True, True]
    (trainer,) = emit(replace(run, layout=replace(run.layout, checkpointing=Checkpointing.LIGHT)), ["transformers"])
    assert any("light checkpointing" in note for note in trainer.notes)


def test_a_torchrun_program_gets_every_part_of_the_layout() -> None:
    """Chunks, both directions, experts and sequence parallelism are arguments only where the plan has them."""
    run = run_named("pipeline")
    whole = replace(run.layout, pipeline=2, interleave=2, bidirectional=True, expert=4, sequence_parallel=True)
    plain = replace(run.layout, sequence_parallel=False)
    extra = ("--interleave 2", "--bidirectional true", "--expert 4", "--sequence-parallel true")
    for layout, expected in ((whole, True), (plain, False)):
        (emission,) = emit(replace(run, layout=layout), ["torchrun"])
        assert [words in emission.files[0].text for words in extra] == [expected] * len(extra)


def test_what_deepspeed_cannot_write_of_a_pipeline_is_a_note() -> None:
    """Its pipeline has no chunks, and its checkpointing recomputes whole layers."""
    run = run_named("pipeline")
    layout = replace(run.layout, interleave=2, checkpointing=Checkpointing.SELECTIVE)
    (emission,) = emit(replace(run, layout=layout), ["deepspeed"])
    assert any("neither chunks nor both directions" in note for note in emission.notes)
    assert any("recomputes whole layers (selective in the plan)" in note for note in emission.notes)
    (plain,) = emit(run, ["deepspeed"])
    assert not any("neither chunks" in note or "whole layers" in note for note in plain.notes)


def test_every_framework_saves_checkpoints_at_the_same_steps() -> None:
    """The interval of the run is in each file that has one, else in a note; old checkpoints do not fill the disk."""
    run = run_named("alone")
    found = {each.framework: each for each in emit(run)}
    arguments = yaml.safe_load(found["transformers"].files[0].text)
    assert (arguments["save_steps"], arguments["save_total_limit"]) == (run.checkpoint_steps, 2)
    assert arguments["per_device_eval_batch_size"] == run.layout.micro_batch
    saved = tomllib.loads(found["torchtitan"].files[0].text)["checkpoint"]
    assert (saved["interval"], saved["keep_latest_k"]) == (run.checkpoint_steps, 2)
    (callback,) = yaml.safe_load(found["lightning"].files[0].text)["trainer"]["callbacks"]
    kept = {"every_n_train_steps": run.checkpoint_steps, "monitor": "step", "mode": "max", "save_top_k": 2}
    assert callback["init_args"] == kept  # the two newest, each written once
    for name in ("accelerate", "deepspeed"):
        assert any(f"every {run.checkpoint_steps:,} steps" in note for note in found[name].notes), name


def test_large_checkpoints_are_written_less_often() -> None:
    """Half an hour is the usual interval; a checkpoint of a terabyte would then take more than a hundredth of it."""
    text = (
        "model: llama-3.1-70b\nhardware: {device: H100_80GB_fp16, devices: 64}\n"
        "training: {batch_size: 512, sequence: 4096, steps: 1000, precision: bf16}\n"
        "layout: {tensor: 8, pipeline: 4, sharding: zero1, micro_batch: 1, checkpointing: none}\n"
    )
    specification = read_specification(text)
    run = run_of_plan(specification, make_plan(specification))
    assert 2 * 1800 < run.checkpoint_steps * run.step_seconds < 3 * 3600


def test_a_recommended_learning_rate_has_three_digits() -> None:
    """More digits would claim that they matter."""
    rate = run_named("llama").schedule.learning_rate
    assert rate == float(f"{rate:.3g}")
