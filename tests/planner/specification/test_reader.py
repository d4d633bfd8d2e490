"""Tests of reading specifications, resolving names and reporting all faults at once."""

from pathlib import Path

import pytest

from flyball_planner.models.cost import ModelCost
from flyball_planner.models.transformer.counts import parameters
from flyball_planner.models.transformer.shape import TransformerShape
from flyball_planner.specification.example_files import example_names, example_text
from flyball_planner.specification.reader import read_specification
from flyball_planner.training import Checkpointing, Method, Sharding
from flyball_reports.specification.problems import SpecificationError

ROOT = Path(__file__).parents[3]


def faults(text: str) -> dict[tuple[int, str], str]:
    """Return the faults of a specification by line and key."""
    with pytest.raises(SpecificationError) as caught:
        read_specification(text, "run.yaml")
    return {(each.line, each.key): each.message for each in caught.value.problems}


@pytest.mark.parametrize("name", example_names())
def test_the_examples_can_be_planned(name: str) -> None:
    """The bundled examples can be read and equal the files in `examples`."""
    assert read_specification(example_text(name)).title
    assert (ROOT / "examples" / f"{name}.yaml").read_text(encoding="utf-8") == example_text(name)


def test_names_are_enough() -> None:
    """Missing values are assumed, and each assumption is listed."""
    found = read_specification("model: gpt2-xl\nhardware: A100_80GB_fp16\n")
    assert isinstance(found.subject, TransformerShape)
    assert parameters(found.subject).total == 1_557_611_200
    assert found.training.precision.name == "fp16"  # from the profile
    assert found.training.global_batch == 32
    assert found.training.samples * found.training.sequence == pytest.approx(20 * 1_557_611_200, rel=1e-3)
    assert found.title == "gpt2-xl on A100 SXM4 80GB"
    assumptions = " ".join(found.assumptions)
    for words in ("no batch size", "20 tokens per parameter", "no sequence length"):
        assert words in assumptions


def test_every_section_is_read() -> None:
    """The keys of every section are read."""
    found = read_specification(
        "title: All\n"
        "model: {name: llama-3.1-8b}\n"
        "training: {batch_size: 64, sequence: 4k, steps: 100, optimizer: adamw-8bit, precision: bf16, method: lora,\n"
        "  lora_rank: 16, lora_targets: [q, k], attention: flash, compiled: true, framework: megatron,\n"
        "  fused_loss: true}\n"
        "hardware: {device: H100_80GB_fp16, devices: 16, devices_per_node: 8, network: 8 x InfiniBand NDR,\n"
        "  host_memory_gb: 512, host_cores: 96}\n"
        "layout: {tensor: 2, micro_batch: 2, sharding: zero1, checkpointing: full}\n"
        "scalability: {devices: [32, 16], batch_sizes: 64}\n"
        "cost: {usd_per_device_hour: 2.5, provider: aws, region: us, spot: true}\n"
        "report: {format: html, output: plan.html, verbose: true}\n"
    )
    training, layout = found.training, found.layout
    assert (training.sequence, training.samples, training.method) == (4000, 6400, Method.LORA)
    assert training.lora is not None
    assert (training.lora.rank, training.lora.targets) == (16, ("q", "k"))
    assert found.machine.between_nodes is not None
    assert found.machine.host_memory_bytes == 512 * 2**30
    assert layout is not None
    assert (layout.data, layout.sharding, layout.checkpointing) == (8, Sharding.ZERO1, Checkpointing.FULL)
    assert found.device_counts == (16, 32)
    assert found.batch_sizes == (64,)
    assert (found.price.usd_per_device_hour, found.price.spot) == (2.5, True)
    assert (found.report.format, found.report.output, found.report.verbose) == ("html", "plan.html", True)


def test_all_faults_are_reported_at_once_with_their_lines() -> None:
    """Faults in keys, values and names of all sections are reported with the nearest known name."""
    found = faults(
        "model:\n  name: transformer_decoder\n  layres: 12\n  hidden: -3\n"
        "training:\n  batch_size: many\n  optimizer: adanw\n  precission: bf16\n"
        "hardware:\n  device: A100_80GB_fp61\n  devices: 0\n"
        "costs: 3\n"
    )
    assert "did you mean 'layers'" in found[3, "model.layres"]
    assert "at least 1" in found[4, "model.hidden"]
    assert found[6, "training.batch_size"] == "expected an integer of at least 1, not 'many'"
    assert "did you mean 'precision'" in found[8, "training.precission"]
    assert "A100_80GB_fp16" in found[10, "hardware.device"]
    assert "at least 1" in found[11, "hardware.devices"]
    assert "did you mean 'cost'" in found[12, "costs"]


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("", (0, "model"), "is missing"),
        ("model:\nhardware: M1_Pro\n", (1, "model"), "is missing"),
        ("model: {name: [gpt2]}\nhardware: M1_Pro\n", (1, "model.name"), "expected text, not a list"),
        ("model: llama\nhardware: M1_Pro\n", (1, "model.name"), "llama-2-7b"),
        ("model: {name: mlp, d_in: -1, d_out: 2}\nhardware: M1_Pro\n",
         (1, "model.d_in"), "expected an integer of at least 1, not -1"),
        ("model: {name: pca_svd, n: 10, p: 5, k: 50}\nhardware: M1_Pro\n", (1, "model.k"), "50 components"),
        ("model: {shape: {layers: 0, hidden: 64, heads: 2, vocab: 9}}\nhardware: M1_Pro\n",
         (1, "model.shape.layers"), "from 1 to"),
        ("model: {shape: {layers: 2, hidden: 10, heads: 3, vocab: 9}}\nhardware: M1_Pro\n",
         (1, "model.shape.heads"), "set head_dim"),
        ("model: {huggingface: {model_type: gpt2, n_embd: .nan}}\nhardware: M1_Pro\n",
         (1, "model.huggingface"), "invalid value in the configuration"),
        ("model: gpt2\nhardware: M1_Pro\ntraining: {lora_rank: 8}\n", (3, "training.lora_rank"), "without method"),
        ("model: gpt2\nhardware: M1_Pro\nscalability: []\n", (3, "scalability.devices"), "1 to 64 of them, not 0"),
        ("model: gpt2-xll\nhardware: H100_80GB_fp16\n", (1, "model.name"), "did you mean 'gpt2-xl'"),
        ("model: gpt2\nhardware: {devices: 2}\n", (2, "hardware.device"), "is missing"),
        ("model: {n: 3}\nhardware: M1_Pro\n", (1, "model.name"), "is missing"),
        ("model: gpt2\nhardware: M1_Pro\ntraining: {optimizer: adanw}\n", (3, "training.optimizer"), "adamw"),
        ("model: gpt2\nhardware: M1_Pro\ntraining: {steps: 3, tokens: 1M}\n", (3, "training.steps"), "redundant"),
        ("model: gpt2\nhardware: {device: H100, devices: 2}\nlayout: {tensor: 4}\n", (3, "layout"), "only 2 devices"),
        ("model: gpt2\nhardware: {device: H100, devices: 8}\nlayout: {tensor: 5}\n", (3, "layout"), "multiple"),
        ("model: {shape: {layers: 2, hidden: 64, heads: 2}}\nhardware: M1_Pro\n", (1, "model.shape.vocab"), "missing"),
        ("model: {shape: {layers: two}}\nhardware: M1_Pro\n", (1, "model.shape.layers"), "expected `int`"),
        ("model: {huggingface: none.json}\nhardware: M1_Pro\n", (1, "model.huggingface"), "cannot read none.json"),
        ("model: {name: mlp, d_in: 3, d_out: 1, batch_size: 8}\nhardware: M1_Pro\ntraining: {batch_size: 9}\n",
         (3, "training.batch_size"), "keep one"),
    ],
)  # fmt: skip
def test_each_fault_is_reported_at_its_place(text: str, place: tuple[int, str], words: str) -> None:
    """The fault gives the line, the key and what to write instead."""
    assert words in faults(text)[place]


def test_a_huggingface_configuration_is_read_from_a_file() -> None:
    """A Hugging Face configuration is read from a file or from keys, with the same result."""
    config = '{"model_type": "gpt2", "n_layer": 2, "n_embd": 64, "n_head": 2, "vocab_size": 100, "n_positions": 32}'
    text = "model: {huggingface: config.json}\nhardware: RTX_4090_fp16\n"
    found = read_specification(text, files={"config.json": config}.__getitem__)
    inline = read_specification(text.replace("config.json", config))
    assert isinstance(found.subject, TransformerShape)
    assert isinstance(inline.subject, TransformerShape)
    assert parameters(found.subject) == parameters(inline.subject)


def test_learned_positions_follow_the_sequence() -> None:
    """If the training gives a sequence length and the model does not, the model uses it."""
    text = "model: {name: transformer_decoder, layers: 2, hidden: 64}\nhardware: M1_Pro\ntraining: {sequence: 256}\n"
    found = read_specification(text)
    assert isinstance(found.subject, TransformerShape)
    assert found.subject.max_positions == found.training.sequence == 256


def test_a_classical_model_gives_its_samples() -> None:
    """The samples of a classical model come from its keys, so nothing is assumed."""
    found = read_specification(example_text("linear_regression"))
    assert isinstance(found.subject, ModelCost)
    assert found.training.samples == 1_000_000
    assert found.assumptions == ()


def test_a_classical_model_has_its_number_format() -> None:
    """`model.precision` is the format of the data and can be fp64; `training.precision` is a fault."""
    found = read_specification(
        "model: {name: kmeans, n: 1e6, p: 10, precision: fp64}\nhardware: CPU_8C_3.5Ghz_baseline\n"
    )
    assert isinstance(found.subject, ModelCost)
    assert found.subject.precision == "fp64"
    problems = faults(
        "model: {name: kmeans, n: 1e6, p: 10}\nhardware: CPU_8C_3.5Ghz_baseline\ntraining: {precision: fp32}\n"
    )
    assert "set model.precision" in problems[3, "training.precision"]


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("hardware: TPU_v4_pod\nmodel: gpt2\ntraining:\n  batch_size: 512\n", (4, "training.batch_size")),
        (
            "hardware: TPU_v4_pod\nmodel:\n  name: mlp\n  batch_size: 512\n  d_in: 4\n  d_out: 2\n",
            (4, "model.batch_size"),
        ),
    ],
)
def test_a_batch_that_no_layout_divides_is_a_fault(text: str, key: tuple[int, str]) -> None:
    """It is found without a plan, with its line and a batch that is possible."""
    with pytest.raises(SpecificationError) as caught:
        read_specification(text)
    (problem,) = caught.value.problems
    assert (problem.line, problem.key) == key
    assert "no layout is possible on 4,096 devices" in problem.message
    assert "use a batch of 4,096" in problem.message
    assert read_specification(text.replace("512", "4096")).training.global_batch == 4096


def test_a_comparison_without_copies_has_a_remark() -> None:
    """data_parallel: false does not restrict the plan's own layout, which a remark states."""
    text = (
        "model: gpt2\ntraining: {batch_size: 8}\nhardware: {device: H100, devices: 4}\n"
        "scalability: {data_parallel: false}\n"
    )
    assert any("may hold copies of the model" in each for each in read_specification(text).assumptions)
    alone = read_specification(text.replace("devices: 4", "devices: 1"))
    assert not any("may hold copies of the model" in each for each in alone.assumptions)


def test_a_specification_may_be_toml() -> None:
    """It has the same keys, and its faults have the lines of the file."""
    text = 'model = "gpt2"\n\n[training]\nbatch_size = 8\nsteps = 10\n\n[hardware]\ndevice = "A100_80GB_fp16"\n'
    assert read_specification(text, "run.toml").training.global_batch == 8
    with pytest.raises(SpecificationError, match=r"run\.toml:5: training\.stepps: unknown key"):
        read_specification(text.replace("steps", "stepps"), "run.toml")
