"""Tests of other names of keys: what they mean, and how their faults are reported."""

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball_planner.models.cost import ModelCost
from flyball_planner.models.families import MODULES, specification_keys
from flyball_planner.plan.make import make_plan
from flyball_planner.specification.aliases import GROUPS, aliases
from flyball_planner.specification.aliases import SECTIONS as OTHER_SECTIONS
from flyball_planner.specification.keys import CHOICES, LAYOUT
from flyball_planner.specification.keys import SECTIONS as KEYS
from flyball_planner.specification.reader import read_specification
from flyball_reports.specification.problems import SpecificationError

SMALL = "{name: mlp, d_in: 4, d_out: 2}"


def faults(text: str) -> dict[tuple[int, str], str]:
    """Return the faults of a specification by line and key."""
    with pytest.raises(SpecificationError) as caught:
        read_specification(text, "run.yaml")
    return {(each.line, each.key): each.message for each in caught.value.problems}


@pytest.mark.parametrize("section", ["", *KEYS])
def test_every_other_name_means_a_key(section: str) -> None:
    """Each alias leads to a key that its section declares, and none hides a key of its own section."""
    declared = {f"{name}.{key.name}" for name, keys in KEYS.items() for key in keys}
    declared |= {f"{CHOICES}.{key.name}" for key in LAYOUT} | {"title"}
    for name, alias in aliases(section).items():
        assert alias.target in declared, name
        own = {key.name for key in KEYS.get(section, ())}
        assert name not in own or alias.target == f"{section}.{name}", name
    assert set(OTHER_SECTIONS.values()) <= {*KEYS, "dataset"}


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("{name: linear_regression_normal, spec: {n: 100, d: 4}}", "parameters=5"),
        ("{name: linear_regression_qr, spec: {samples: 100, n_features: 4, d_out: 1}}", "parameters=5"),
        ("{name: logistic_regression_newton, spec: {n: 100, d: 4, max_iter: 3}}", "passes=3"),
        ("{name: logistic_regression_sgd, spec: {n: 100, dim: 4, iterations: 6}}", "passes=6"),
        ("{name: svm_linear, spec: {n: 100, d: 4, epochs: 3}}", "passes=3"),
        ("{name: svm_rbf, spec: {n: 100, features: 4, support_fraction: 0.5}}", "parameters=250"),
        ("{name: svm_rbf, spec: {n: 100, d: 4, n_support_vectors: 20}}", "parameters=100"),
        ("{name: decision_tree, spec: {n: 100, d: 4, max_depth: 3}}", "3 levels"),
        ("{name: random_forest, spec: {n: 100, d: 4, n_estimators: 7, max_features: 2}}", "2 features"),
        ("{name: xgboost_like, spec: {n: 100, d: 4, n_estimators: 9, max_depth: 5}}", "passes=9"),
        ("{name: kmeans, spec: {n: 100, d: 4, k: 3, iterations: 10}}", "passes=11"),
        ("{name: pca_svd, spec: {n: 100, d: 9, components: 3}}", "parameters=36"),
        ("{name: mlp, spec: {n: 100, d_in: 4, d_out: 2, hidden_layers: [8]}}", "parameters=58"),
        ("{name: mlp, spec: {n: 100, n_features: 4, n_classes: 2, hidden_units: 8, num_layers: 1}}", "parameters=58"),
        ("{name: simple_cnn, spec: {n: 9, image_size: 8, in_channels: 1, channels: [2], fc: [4], num_classes: 3}}",
         "parameters=167"),
        ("{name: resnet50, spec: {n: 9, input_shape: [224, 224, 3], num_classes: 10}}", "parameters=23528522"),
        ("{name: transformer_encoder, spec: {n: 9, d_model: 64, n_layers: 2, n_heads: 4, vocab_size: 99, seq_len: 16}}",
         "layers=2"),
        (("{name: transformer_decoder, spec: {n: 9, hidden_size: 64, num_layers: 2, num_heads: 4, vocab_size: 99,"
         " seq_len: 16, d_ff: 128}}"), "ffn=128"),
    ],
)  # fmt: skip
def test_the_usual_names_of_every_model_are_read(model: str, expected: str) -> None:
    """All sixteen models take the names that their users know."""
    found = read_specification(f"model: {model}\nhardware: RTX_4090_fp16\n").subject
    assert expected in repr(found)


@pytest.mark.parametrize("model", [name for name in MODULES if name != "cnn"])
@pytest.mark.parametrize("precision", ["fp32", "fp16", "float64"])
def test_every_model_takes_a_precision(model: str, precision: str) -> None:
    """A precision is planned, or a remark explains why it is not; fp64 is an error for networks only."""
    keys = " ".join(f"{key.name}: 16," for key in specification_keys(model) if key.required)
    text = f"model: {{name: {model}, spec: {{{keys} precision: {precision}}}}}\nhardware: A100_40GB_fp16\n"
    network = any(key.name == "batch_size" for key in specification_keys(model))
    if network and precision == "float64":
        assert any("model.spec.precision" in key for _, key in faults(text))
        return
    found = read_specification(text)
    if network:
        assert found.training.precision.name == precision
    else:
        assert isinstance(found.subject, ModelCost)
        stated = {"float64": "fp64"}.get(precision, precision)
        assert found.subject.precision == stated or f"precision {stated}: " in " ".join(found.assumptions)


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        (f"model: {SMALL}\nhardware:\n  name: A100\n  parallel_devices: 4\n  devices: 8\n",
         (5, "hardware.devices"), "contradicts hardware.parallel_devices on line 4; keep one of them"),
        ("model:\n  name: mlp\n  d_in: 4\n  d_out: 2\n  batch_size: 8\n  spec: {batch_size: 16}\nhardware: M1_Pro\n",
         (6, "model.spec.batch_size"), "contradicts model.batch_size on line 5"),
        ("model:\n  name: mlp\n  spec: {d_in: 4, n_features: 5, d_out: 2}\nhardware: M1_Pro\n",
         (3, "model.spec.n_features"), "contradicts d_in"),
        (("model:\n  name: mlp\n  spec: {d_in: 4, d_out: 2}\n  optimization: adamw\n"
         "training: {optimizer: sgd}\nhardware: M1_Pro\n"),
         (5, "training.optimizer"), "contradicts model.optimization on line 4"),
        ("model:\n  name: mlp\n  spec: {d_in: 4, d_out: 2, batch: 8}\ntraining: {batch_size: 9}\nhardware: M1_Pro\n",
         (4, "training.batch_size"), "contradicts model.spec.batch"),
        (f"model: {SMALL}\nhardware:\n  name: RTX_3060_fp61\n", (3, "hardware.name"), "RTX_3060_fp16"),
        (f"model: {SMALL}\nhardware:\n  name: A100_40GB_fp16\n  efficiency: 1.4\n",
         (4, "hardware.efficiency"), "a number above 0 and at most 1, not 1.4"),
        (f"model: {SMALL}\nhardware:\n  name: A100_40GB_fp16\n  efficiency: 0\n",
         (4, "hardware.efficiency"), "above 0"),
        (f"model: {SMALL}\nhardware:\n  name: A100_40GB_fp16\n  parallel_devices: many\n",
         (4, "hardware.parallel_devices"), "expected an integer of at least 1"),
        (f"model: {SMALL}\nhardware:\n  name: A100_40GB_fp16\n  paralel_devices: 2\n",
         (4, "hardware.paralel_devices"), "did you mean 'parallel_devices'?"),
        (f"model: {SMALL}\nhardware: M1_Pro\nscalability: {{device_count_s: [1]}}\n",
         (3, "scalability.device_count_s"), "did you mean 'device_counts'?"),
        (f"model: {SMALL}\nhardware: M1_Pro\nreport:\n  include_recomendations: true\n",
         (4, "report.include_recomendations"), "did you mean 'include_recommendations'?"),
        ("model:\n  name: kmeans\n  spec:\n    n: 9\n    d: 2\n    n_clustres: 3\nhardware: M1_Pro\n",
         (6, "model.spec.n_clustres"), "did you mean 'n_clusters'?"),
        ("model:\n  name: kmeans\n  spec:\n    n: 9\n    d: -2\nhardware: M1_Pro\n",
         (5, "model.spec.d"), "expected an integer of at least 1, not -2"),
        ("model:\n  name: simple_cnn\n  spec: {conv_layers: 3}\nhardware: M1_Pro\n",
         (3, "model.spec.conv_layers"), "unknown key"),
        ("model:\n  name: simple_cnn\n  spec: {image: 64, input_shape: [3, 32, 32]}\nhardware: M1_Pro\n",
         (3, "model.spec.input_shape"), "contradicts image"),
        ("model:\n  name: gpt2\n  spec:\n    seq_len: -1\nhardware: M1_Pro\n",
         (4, "model.spec.seq_len"), "expected an integer of at least 1"),
        (("model: gpt2\nhardware: {name: A100_80GB_fp16, count: 8}\ntraining:\n  batch_size: 64\n"
         "  per_device_batch_size: 4\n  gradient_accumulation_steps: 4\n"),
         (6, "training.gradient_accumulation_steps"), "is 128, not the batch_size of 64"),
        (("model: gpt2\nhardware: {name: A100_80GB_fp16, count: 8}\ntraining:\n  batch_size: 60\n"
         "  gradient_accumulation_steps: 4\n"), (5, "training.gradient_accumulation_steps"), "is not a multiple"),
        ("model: gpt2\nhardware: M1_Pro\ntraining:\n  gradient_accumulation_steps: 4\n",
         (4, "training.gradient_accumulation_steps"), "needs batch_size"),
        ("model: gpt2\nhardware: {name: A100_80GB_fp16, count: 8, nodes: 3, gpus_per_node: 4}\n",
         (2, "hardware.nodes"), "3 machines with 4 devices each are not 8 devices"),
        ("model: gpt2\nhardware: {name: A100_80GB_fp16, count: 8}\nparallelism: {tp: 2, dp: 8}\n",
         (3, "parallelism.dp"), "hold 4 copies"),
        (("model: gpt2\nhardware: {name: A100_80GB_fp16, count: 8}\nlayout: {micro_batch: 2}\n"
         "training: {batch_size: 64, zero_stage: 2}\nparallelism: {sharding: zero3}\n"),
         (4, "training.zero_stage"), "contradicts layout.sharding"),
    ],
)  # fmt: skip
def test_faults_name_the_authors_key_and_line(text: str, place: tuple[int, str], words: str) -> None:
    """A fault has the key and the line that the author wrote, and contradictions name both keys."""
    found = faults(text)
    assert words in found.get(place, ""), found


def test_equal_values_of_two_names_are_accepted() -> None:
    """The same value under two names is accepted."""
    found = read_specification(f"model: {SMALL}\nhardware: {{name: A100_40GB_fp16, gpus: 2, devices: 2}}\n")
    assert found.machine.devices == 2


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("training: {precision: float32}", "fp32"),
        ("training: {precision: FP16}", "fp16"),
        ("training: {dtype: torch.bfloat16}", "bf16"),
        ("training: {precision: bf16-mixed}", "bf16-autocast"),
        ("training: {fp16: true}", "fp16-autocast"),
        ("training: {fp16: false, bf16: true}", "bf16-autocast"),
        ("training: {mixed_precision: bf16}", "bf16-autocast"),
        ("training: {mixed_precision: 'no'}", "fp32"),
        ("training: {tf32: true}", "tf32"),
        ("training: {tf32: true, bf16: true}", "bf16-autocast"),
    ],
)
def test_words_for_a_precision(written: str, expected: str) -> None:
    """Formats are named as by PyTorch, Lightning, Accelerate and Hugging Face."""
    found = read_specification(f"model: {SMALL}\nhardware: A100_40GB_fp16\n{written}\n")
    assert found.training.precision.name == expected


def test_the_chosen_format_is_planned_on_any_device() -> None:
    """fp16 is planned on each device that the user names, as mixed precision, with a remark."""
    for device in ("GTX_1660Ti_fp32", "RTX_3060_fp16", "M2_Ultra", "CPU_4C_2.5GHz_basic", "TPU_v4_pod"):
        found = read_specification(
            f"model: {SMALL}\nhardware: {{name: {device}, devices: 1}}\ntraining: {{precision: fp16, steps: 3}}\n"
        )
        assert found.training.precision.name == "fp16"
        assert make_plan(found).computation.step_seconds.middle > 0
        assert any("mixed precision" in each for each in found.assumptions)


def test_a_disabled_comparison_compares_nothing() -> None:
    """`enabled: false` leaves lists out; `enabled: true` without lists compares the usual numbers of devices."""
    text = f"model: {SMALL}\nhardware: M1_Pro\nscalability: "
    assert read_specification(text + "{enabled: false, device_counts: [2, 4]}\n").device_counts == ()
    assert read_specification(text + "{enabled: true}\n").device_counts == (1, 2, 4, 8)
    assert read_specification(text + "{data_parallel: false, model_parallel: false, devices: 4}\n").device_counts == ()


def test_no_layout_divides_a_model_that_may_not_be_divided() -> None:
    """`model_parallel: false` leaves only copies of the model to the search."""
    text = "model: llama-2-7b\nhardware: {name: A100_80GB_fp16, count: 8}\ntraining: {batch_size: 64, steps: 10}\n"
    found = make_plan(read_specification(text + "scalability: {model_parallel: false, device_counts: [16]}\n"))
    assert (found.layout.tensor, found.layout.pipeline, found.layout.data) == (1, 1, 8)
    assert len(found.scaling_devices) == 1


def test_uses_of_the_trained_model_are_read() -> None:
    """The section `inference` has the requests and their length."""
    found = read_specification("model: gpt2\nhardware: M1_Pro\nserving: {concurrency: 4, max_length: 512}\n")
    assert found.inference is not None
    assert (found.inference.batch_size, found.inference.context) == (4, 512)


NAMES = sorted({*(name for section in ("", *KEYS) for name in aliases(section)), *GROUPS, *KEYS, *OTHER_SECTIONS})
VALUES = st.recursive(
    st.sampled_from(
        [None, 0, -1, 8, 0.5, 1e30, True, "", "auto", "fp16", "8k", "adamw", "gpt2", "x" * 300, [1, 2], [[1]]]
    ),
    lambda inner: st.dictionaries(st.sampled_from(NAMES), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=4),
    st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=3),
)
def test_any_names_and_values_are_read_or_are_faults(root: dict[str, object], model: dict[str, object]) -> None:
    """Whatever names and values a file has, the result is a specification or a list of faults with messages."""
    text = json.dumps({"hardware": "A100_40GB_fp16", **root, "model": {"name": "mlp", "d_in": 4, "d_out": 2, **model}})
    with suppress(SpecificationError):
        assert read_specification(text).training.global_batch > 0


CNN = "{name: simple_cnn, classes: 10, "
XGBOOST = "{name: xgboost_like, n: 100000, p: 50, "


@pytest.mark.parametrize(
    ("model", "same"),
    [
        (f"{CNN}input_shape: [3, 48, 48]}}", f"{CNN}image: 48}}"),
        (f"{CNN}input_shape: '(48, 48, 3)'}}", f"{CNN}image: 48}}"),
        (f"{CNN}input_shape: [48, 48]}}", f"{CNN}image: 48}}"),
        (f"{CNN}input_shape: [null, 48, 48, 1]}}", f"{CNN}image: 48, channels: 1}}"),
        (f"{CNN}image_height: 48, image_width: 48}}", f"{CNN}image: 48}}"),
        ("{name: mlp, d_out: 2, input_shape: '(784,)'}", "{name: mlp, d_out: 2, d_in: 784}"),
        ("{name: mlp, d_out: 2, input_shape: 784}", "{name: mlp, d_out: 2, d_in: 784}"),
        ("{name: mlp, d_in: 9, d_out: 2, layers: [1e3, 512.0]}", "{name: mlp, d_in: 9, d_out: 2, layers: [1000, 512]}"),
        (f"{XGBOOST}tree_method: hist}}", f"{XGBOOST}library: xgboost}}"),
        (f"{XGBOOST}tree_method: exact}}", f"{XGBOOST}library: xgboost-exact}}"),
        (f"{XGBOOST}tree_method: gpu_hist}}", f"{XGBOOST}device: gpu}}"),
        (f"{XGBOOST}tree_method: hist, device: cuda}}", f"{XGBOOST}device: gpu}}"),
    ],
)
def test_values_of_other_tools_are_read(model: str, same: str) -> None:
    """Shapes, sides of images and settings of XGBoost mean the same as the planner's own keys."""
    text = "model: {}\nhardware: A100\n"
    assert read_specification(text.format(model)).subject == read_specification(text.format(same)).subject


@pytest.mark.parametrize("keys", ["input_shape: [3, 480, 640]", "image_height: 480, image_width: 640"])
def test_an_image_that_is_not_square_is_refused(keys: str) -> None:
    """The message has the side of a square with as many pixels."""
    found = faults(f"model: {CNN}{keys}}}\nhardware: A100\n")
    assert any("use image: 554" in each for each in found.values())


def test_a_paged_optimizer_of_the_trainer_is_read() -> None:
    """paged_adamw_32bit keeps two fp32 moments, which may move to the host."""
    text = f"model: {SMALL}\nhardware: A100\ntraining: {{optim: paged_adamw_32bit}}\n"
    optimizer = read_specification(text).training.optimizer
    assert (optimizer.state_bytes, optimizer.paged) == (8, True)


@pytest.mark.parametrize(
    ("name", "hint"), [("mpl", "did you mean 'mlp'?"), ("my_model", "describe a transformer by its dimensions")]
)
def test_an_unknown_model_is_one_fault(name: str, hint: str) -> None:
    """Its keys are not judged, and the message names the option that adds a model."""
    found = faults(f"model: {{name: {name}, d_in: 784, layers: [512], n: 60000}}\nhardware: A100\n")
    ((place, message),) = found.items()
    assert place == (1, "model.name")
    assert hint in message
    assert "--models-file" in message


@pytest.mark.parametrize(
    "text",
    [
        "model_name: gpt2\ngpu: RTX 3090\nblock_size: 512\nmax_steps: 10\nbatch_size: 8\n",
        '{"model_name_or_path": "gpt2", "gpu": "RTX 3090", "max_seq_length": 512, "max_steps": 10, "batch_size": 8}',
        "model: {base_model: gpt2}\nhardware: {gpu: RTX 3090}\ntraining: {sequence: 512, steps: 10, batch_size: 8}\n",
    ],
)
def test_a_model_is_named_as_other_tools_do(text: str) -> None:
    """A flat file of a trainer's arguments names its model at the top level."""
    found = read_specification(text)
    assert (found.model, found.training.sequence, found.machine.device.name) == ("gpt2", 512, "GeForce RTX 3090")


def test_a_misspelt_section_is_read_for_its_faults() -> None:
    """All faults are reported at once, also those in a section whose own name is wrong."""
    found = faults("modle: gpt2\ntrainnig:\n  bach_size: 8\nhardware:\n  device: A100\n  devcies: 8\n")
    assert {key for _, key in found} == {"modle", "trainnig", "trainnig.bach_size", "hardware.devcies"}
    twice = faults("model: gpt2\nmodle: gpt2-xl\nhardware: A100\n")
    assert {key for _, key in twice} == {"modle"}


@pytest.mark.parametrize(
    ("name", "expected"), [("XGBoost", "XGBoost"), ("lightgbm", "LightGBM"), ("K-Means", "k-means"), ("PCA", "SVD")]
)
def test_a_library_or_algorithm_names_its_model(name: str, expected: str) -> None:
    """The usual names are accepted, and a library is the one that is planned."""
    subject = read_specification(f"model: {{name: {name}, n: 1000, p: 20}}\nhardware: A100\n").subject
    assert isinstance(subject, ModelCost)
    assert expected.casefold() in subject.implementation.casefold()


@pytest.mark.parametrize(
    ("hardware", "name", "gib"),
    [
        ("device: A100, vram: 40GB", "A100 SXM4 40GB", 40),
        ("device: A100 80GB, memory_gb: 80", "A100 SXM4 80GB", 80),
        ("device: M1 Pro, memory: 16", "M1 Pro (16-core GPU)", 16),
        ("device: M1 Pro 16GB", "M1 Pro (16-core GPU)", 16),
        ("device: M1_Pro_16GB", "M1 Pro (16-core GPU)", 16),
        ("device: V100 16GB", "V100 SXM2 16GB", 16),
    ],
)
def test_the_memory_selects_the_variant_of_a_device(hardware: str, name: str, gib: float) -> None:
    """A card with two sizes is the one with this size, and a chip that shares its memory may have any."""
    device = read_specification(f"model: gpt2\nhardware: {{{hardware}}}\n").machine.device
    assert (device.name, device.memory_bytes / 2**30) == (name, gib)


def test_a_device_without_such_a_variant_is_a_fault() -> None:
    """The message has the memory that the device has."""
    found = faults("model: gpt2\nhardware: {device: RTX 3090, memory_gb: 48GB}\n")
    assert "GeForce RTX 3090 has 24 GB, not 48" in found[2, "hardware.memory_gb"]


@pytest.mark.parametrize("name", ["A100 80GB", "A100_80GB_fp16"])
def test_two_sizes_of_a_memory_are_a_fault(name: str) -> None:
    """The size in the name is not replaced by another one."""
    found = faults(f"model: gpt2\nhardware: {{device: {name}, memory_gb: 40}}\n")
    assert "A100 SXM4 80GB has 80 GB, not 40" in found[2, "hardware.memory_gb"]


@pytest.mark.parametrize(
    ("hardware", "devices", "nodes"),
    [
        ("8xH100", 8, 1),
        ("8 × H100", 8, 1),
        ("H100 x8", 8, 1),
        ("{gpu: 4x H100, count: 4}", 4, 1),
        ("{device: 8xH100, nodes: 2}", 16, 2),
    ],
)
def test_a_device_may_be_named_with_its_number(hardware: str, devices: int, nodes: int) -> None:
    """The number is that of all devices, or that of each machine where their number is given too."""
    machine = read_specification(f"model: gpt2\nhardware: {hardware}\n").machine
    assert (machine.device.name, machine.devices, machine.nodes) == ("H100 SXM5", devices, nodes)


def test_a_number_may_precede_a_name_that_begins_with_a_digit() -> None:
    """The name of a card is often only its number."""
    machine = read_specification("model: gpt2\nhardware: 4x4090\n").machine
    assert (machine.device.name, machine.devices) == ("GeForce RTX 4090", 4)


def test_two_numbers_of_devices_are_a_fault() -> None:
    """The message has both."""
    found = faults("model: gpt2\nhardware:\n  device: 8xH100\n  devices: 4\n")
    assert found == {(4, "hardware.devices"): "4 contradicts 8xH100; keep one of them"}


def test_a_device_needs_a_model() -> None:
    """A word for any device does not get a list of names that contain it."""
    found = faults("model: gpt2\nhardware: gpu\n")
    assert "name its model, such as RTX 4090" in found[2, "hardware.device"]


def test_a_size_in_a_name_suggests_no_other_device_of_this_size() -> None:
    """The nearest name is that of the nearest device."""
    found = faults("model: gpt2\nhardware: M5 Pro 16GB\n")
    assert found[2, "hardware.device"].endswith(" Pro'?")


def test_the_configuration_of_a_model_is_not_a_specification() -> None:
    """One message names the place where it belongs, instead of one for each of its keys."""
    found = faults('{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 64}')
    ((place, message),) = found.items()
    assert place == (0, "")
    assert "model: {huggingface: config.json}" in message


def test_a_group_of_an_optimizer_may_be_at_the_top_level() -> None:
    """Its type is the optimizer, as in a section."""
    found = read_specification("model: gpt2\nhardware: A100\noptimizer: {type: sgd, lr: 0.1}\n")
    assert (found.training.optimizer.name, found.learning_rate) == ("sgd", 0.1)


@pytest.mark.parametrize(("more", "why"), [("", "neither samples nor tokens"), (", steps: 10", "beside steps")])
def test_epochs_without_data_are_reported(more: str, why: str) -> None:
    """A key that has no effect is listed among the assumptions."""
    found = read_specification(f"model: gpt2\nhardware: A100\ntraining: {{epochs: 3{more}}}\n")
    assert any(each.startswith("epochs: not used") and why in each for each in found.assumptions)


def test_a_configuration_of_deepspeed_may_be_completed() -> None:
    """Its switches, its optimizer and its stage of ZeRO are read, beside a model and hardware."""
    found = read_specification(
        '{"model": "gpt2", "hardware": "8xA100", "train_batch_size": 64, "train_micro_batch_size_per_gpu": 4, '
        '"bf16": {"enabled": true}, "fp16": {"enabled": false}, '
        '"zero_optimization": {"stage": 2, "overlap_comm": true}, '
        '"optimizer": {"type": "AdamW", "params": {"lr": 1e-4}}, "gradient_clipping": 1.0}'
    )
    training, choices = found.training, found.choices
    assert choices is not None
    assert (training.global_batch, training.precision.name, found.learning_rate) == (64, "bf16-autocast", 1e-4)
    assert (choices.micro_batch, [each.value for each in choices.sharding]) == ((4,), ["zero2"])


@pytest.mark.parametrize(
    ("name", "device", "devices"),
    [
        ("v5e-8", "TPU v5e", 8),
        ("v5litepod-16", "TPU v5e", 16),
        ("v5p-128", "TPU v5p", 64),
        ("tpu-v4-32", "TPU v4", 16),
        ("v3-8", "TPU v3", 4),
        ("TPU v6e-4", "TPU v6e (Trillium)", 4),
        ("tpu7x-128", "TPU v7x (Ironwood)", 64),
        ("H100x8", "H100 SXM5", 8),
        ("H100:8", "H100 SXM5", 8),
        ("DGX H100", "H100 SXM5", 8),
        ("4x DGX A100", "A100 SXM4 80GB", 32),
        ("HGX H100", "H100 SXM5", 8),
        ("2x p4d.24xlarge", "A100 SXM4 40GB", 16),
        ("9070 XT", "Radeon RX 9070 XT", 1),
        ("2x 7900XTX", "Radeon RX 7900 XTX", 2),
        ("DGX Spark", "GB10 (DGX Spark)", 1),
        ("ND96isr_H100_v5", "H100 SXM5", 8),
        ("a3-ultragpu-8g", "H200 SXM", 8),
    ],
)
def test_machines_are_named_as_clouds_and_vendors_do(name: str, device: str, devices: int) -> None:
    """Slices of TPU pods count cores, or chips if these have one core; a complete machine has all its devices."""
    machine = read_specification(f"model: gpt2\nhardware: {name}\n").machine
    assert (machine.device.name, machine.devices) == (device, devices)


def test_a_slice_of_a_pod_has_its_chips_on_all_machines() -> None:
    """Machines do not multiply a slice, and a number of cores as number of devices contradicts its chips."""
    machine = read_specification("model: gpt2\nhardware: {device: v5p-128, nodes: 16}\n").machine
    assert (machine.devices, machine.devices_a_node) == (64, 4)
    assert read_specification("model: gpt2\nhardware: v5p-128\n").machine.between_nodes is None  # its chips are linked
    found = faults("model: gpt2\nhardware:\n  device: v5p-128\n  devices: 128\n")
    assert found == {(4, "hardware.devices"): "128 contradicts v5p-128 (64 chips); keep one of them"}


def test_a_stated_number_of_devices_is_kept() -> None:
    """Only a complete machine without a number gets one."""
    machine = read_specification("model: gpt2\nhardware: {device: DGX H100, devices: 2}\n").machine
    assert machine.devices == 2


@pytest.mark.parametrize(("name", "hint"), [("MI300Z", "MI300"), ("Colab T4", "did you mean 'T4'?")])
def test_devices_of_the_same_number_are_suggested(name: str, hint: str) -> None:
    """The suggestion for an unknown device has its model number, or is the device within a longer name."""
    assert hint in faults(f"model: gpt2\nhardware: {name}\n")[2, "hardware.device"]


@pytest.mark.parametrize("model", ["{name: xgboost, p: 30}", "{name: kmeans, p: 8}", "{name: pca, p: 80}"])
def test_samples_may_be_those_of_the_training(model: str) -> None:
    """A classical model without samples of its own has those of the section `training`; its own ones count first."""
    head = "hardware: CPU_8C_3.5Ghz_baseline\ntraining: {samples: 1M}\n"
    for written, samples in ((model, 1_000_000), (f"{model[:-1]}, n: 500}}", 500)):
        subject = read_specification(f"{head}model: {written}\n").subject
        assert isinstance(subject, ModelCost)
        assert subject.samples == samples
