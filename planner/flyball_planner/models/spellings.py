"""Other names of models' keys, as people and other tools write them (scikit-learn, Keras, PyTorch, Hugging Face)."""

import re
from collections.abc import Collection, Iterator, Mapping
from math import prod, sqrt

NAMES: Mapping[str, str] = {
    # A key, and its other names. A name means the first of its keys that the model has.
    "n":
        "samples n_samples num_samples rows n_rows num_rows examples n_examples num_examples instances "
        "dataset_size train_samples num_train n_train train_size data_size",
    "p":
        "d d_in dim dims features n_features num_features input_dim input_size in_features feature_dim "
        "columns n_columns dimensions input_features",
    "d_in":
        "d p n_features num_features features input_dim input_size in_features feature_dim input_features "
        "inputs n_inputs",
    "d_out":
        "output_dim output_size out_features outputs n_outputs num_outputs classes n_classes num_classes "
        "targets n_targets num_targets num_labels",
    "classes":
        "n_classes num_classes num_labels d_out output_dim n_outputs outputs output_size",
    "k":
        "clusters n_clusters num_clusters components n_components num_components centers n_centers",
    "iterations":
        "max_iter n_iter num_iter iters max_iters max_iterations n_iterations num_iterations epochs n_epochs "
        "num_epochs max_epochs passes steps",
    "epochs":
        "n_epochs num_epochs max_epochs num_train_epochs max_iter n_iter iterations max_iterations passes",
    "restarts":
        "n_init num_init n_restarts starts",
    "trees":
        "n_estimators num_estimators estimators n_trees num_trees num_boost_round boosting_rounds rounds "
        "n_rounds nrounds iterations num_iterations",
    "depth":
        "max_depth tree_depth max_levels levels",
    "features":
        "max_features mtry features_per_split",
    "leaves":
        "num_leaves max_leaves n_leaves",
    "bins":
        "max_bin max_bins n_bins num_bins",
    "support":
        "support_fraction support_share support_vector_fraction sv_fraction",
    "solver":
        "svd_solver algorithm",
    "device":
        "device_type task_type",
    "batch_size":
        "batch minibatch_size mini_batch_size mini_batch global_batch_size global_batch train_batch_size",
    "precision":
        "dtype torch_dtype data_type number_format",
    "image":
        "image_size img_size input_size resolution image_resolution pixels input_resolution",
    "channels":
        "in_channels input_channels num_channels n_channels image_channels",
    "filters":
        "conv_filters conv_channels out_channels num_filters n_filters conv_layers",
    "kernel":
        "kernel_size filter_size",
    "pool":
        "pool_size pooling",
    "dense":
        "dense_layers fc fc_layers fc_sizes fc_dims hidden_layers hidden_sizes hidden_dims hidden",
    "batch_norm":
        "batchnorm use_batch_norm batch_normalization",
    "activation":
        "activation_function act hidden_activation nonlinearity",
    "layers":
        "n_layers num_layers n_layer num_hidden_layers n_hidden_layers blocks n_blocks num_blocks depth "
        "hidden_layers hidden_sizes hidden_layer_sizes hidden_dims hidden_units layer_sizes widths",
    "hidden":
        "d_model hidden_size hidden_dim hidden_dimension d_hidden n_hidden width model_dim n_embd n_embed "
        "embed_dim embedding_dim embedding_size emb_dim dim d",
    "heads":
        "n_heads num_heads n_head nhead num_attention_heads attention_heads",
    "kv_heads":
        "n_kv_heads num_kv_heads n_kv_head num_key_value_heads",
    "ffn":
        "d_ff dff ff_dim ffn_dim ffn_size d_ffn intermediate_size dim_feedforward feedforward_dim "
        "ffn_hidden_size mlp_dim n_inner",
    "vocab":
        "vocab_size n_vocab vocabulary vocabulary_size num_embeddings",
    "sequence":
        "seq_len seq sequence_len seq_length sequence_length max_seq_len max_seq_length max_sequence_length "
        "context_length context_size block_size max_length n_ctx n_positions max_position_embeddings",
    "gated":
        "swiglu glu use_swiglu gated_mlp",
    "tied":
        "tie_embeddings tie_weights tie_word_embeddings tied_embeddings weight_tying",
}  # fmt: skip
"""All other names, for all models."""

WORDS: Mapping[str, Mapping[str, object]] = {
    "precision": {
        "float64": "fp64", "double": "fp64", "f64": "fp64", "64": "fp64",
        "float32": "fp32", "float": "fp32", "single": "fp32", "f32": "fp32", "32": "fp32", "32-true": "fp32",
        "float16": "fp16", "half": "fp16", "f16": "fp16", "16": "fp16", "mixed": "fp16", "mixed_float16": "fp16",
        "mixed_fp16": "fp16", "fp16_mixed": "fp16", "fp16-mixed": "fp16",
        "bfloat16": "bf16", "mixed_bfloat16": "bf16", "mixed_bf16": "bf16",
        "16-mixed": "fp16-autocast", "amp": "fp16-autocast", "amp_fp16": "fp16-autocast",
        "bf16-mixed": "bf16-autocast", "amp_bf16": "bf16-autocast", "bf16-true": "bf16-pure",
        "tensorfloat32": "tf32", "float8": "fp8", "transformer-engine": "fp8",
    },
    "features": {"sqrt": 0, "auto": 0},
    "depth": {"none": 0, "unlimited": 0},
    "device": {"cuda": "gpu", "cuda:0": "gpu"},
    "solver": {"covariance_eigh": "covariance", "svd": "full", "exact": "full", "randomised": "randomized"},
    "activation": {"swish": "silu", "leakyrelu": "leaky_relu"},
}  # fmt: skip
"""Other words for the values of keys. Lightning's `16-mixed` and PyTorch's AMP are autocast over fp32 weights."""


def plain(name: str) -> str:
    """Return a name as the tables have it: in lower case, with underscores."""
    return name.casefold().replace("-", "_").replace(" ", "_")


def key_of(name: str, keys: Collection[str], own: Mapping[str, str] | None = None) -> str | None:
    """Return the model's key that a name means, by the model's own spellings or by the common ones; None if none."""
    if name in keys:
        return name
    written = plain(name)
    if written in keys:
        return written
    if own and written in own:
        return own[written]
    return next((key for key, names in NAMES.items() if key in keys and written in names.split()), None)


def spellings_of(keys: Collection[str], own: Mapping[str, str] | None = None) -> Iterator[str]:
    """Yield all other names of some keys."""
    yield from own or ()
    for key, names in NAMES.items():
        if key in keys:
            yield from names.split()


def value_of(key: str, value: object) -> object:
    """Return a key's value in the planner's words; any other value is returned unchanged."""
    words = WORDS.get(key)
    if words is None or isinstance(value, list | tuple | dict):
        return value
    return words.get(str(value).casefold().removeprefix("torch."), value)


def meant(name: str, value: object, keys: Collection[str], own: Mapping[str, str] | None = None) -> str | None:
    """Return the key that a name with this value means: a list of widths is never a single width."""
    key = key_of(name, keys, own)
    several = isinstance(value, list | tuple)
    if several and key == "hidden" and "layers" in keys:
        return "layers"
    if several and key == "channels" and "filters" in keys:
        return "filters"
    if not several and key == "filters" and plain(name) in NUMBERS_OF_LAYERS:
        return None  # the widths of the layers are not stated
    if not several and key == "layers" and plain(name) in SINGLE_WIDTHS and "hidden" in keys:
        return "hidden"
    return key


NUMBERS_OF_LAYERS = frozenset({"conv_layers"})
SINGLE_WIDTHS = frozenset({"hidden_units", "units", "hidden_sizes", "hidden_dims", "widths"})
"""Names of a width that all layers have, if their value is a number."""

SHAPES = frozenset({"input_shape", "image_shape", "shape_in", "input_dims"})
COUNTED_SUPPORT = frozenset({"n_support", "n_sv", "n_support_vectors", "num_support_vectors", "support_vectors"})
IMAGE_SIDES = 3
HEIGHTS = frozenset({"image_height", "img_height", "height", "image_h"})
WIDTHS = frozenset({"image_width", "img_width", "width", "image_w"})
ONE_SIDE = HEIGHTS | WIDTHS
"""Names of one side of an image; `width` is another key of networks without images."""
WRITTEN_SHAPE = re.compile(r"[\s(\[]*\d+(?:\s*[x×*,]\s*\d+)*[\s,)\]]*")

TREE_METHODS: Mapping[str, Mapping[str, str]] = {
    "hist": {"library": "xgboost"}, "auto": {"library": "xgboost"}, "exact": {"library": "xgboost-exact"},
    "gpu_hist": {"library": "xgboost", "device": "gpu"},
}  # fmt: skip
"""Values of XGBoost's `tree_method`; since version 2, `auto` is `hist`."""


def expanded(given: Mapping[str, object], keys: Collection[str]) -> dict[str, object]:
    """Replace values that state several keys, or a key in another unit, by the model's own keys.

    These are the shape of an input, such as [3, 32, 32], the sides of an image, XGBoost's `tree_method`, and a number
    of support vectors instead of their share.
    """
    found: dict[str, object] = {}
    for name, value in given.items():
        stated = {} if name in keys else _stated(plain(name), value, given, keys)
        clear = all(value_of(key, given.get(key, each)) == each for key, each in stated.items())
        found |= stated if stated and clear else {name: value}
    return found


def _stated(name: str, value: object, given: Mapping[str, object], keys: Collection[str]) -> dict[str, object]:
    if name in SHAPES:
        return _of_shape(_sides(value), keys)
    if _is_side(name, keys):
        sides = {each for other, each in given.items() if plain(other) in ONE_SIDE}
        return {"image": value} if len(sides) == 1 else {}
    if name == "tree_method" and "library" in keys:
        return dict(TREE_METHODS.get(str(value).casefold(), {}))
    if name in COUNTED_SUPPORT and "support" in keys and isinstance(value, int):
        samples = next((each for other, each in given.items() if key_of(other, keys) == "n"), None)
        if isinstance(samples, int | float) and samples >= value > 0:
            return {"support": value / samples}
    return {}


def _sides(value: object) -> list[object]:
    """Return the sides of a shape: a list, a single number, or a text such as (3, 32, 32) or 3x32x32."""
    if isinstance(value, str) and WRITTEN_SHAPE.fullmatch(value):
        return [int(each) for each in re.findall(r"\d+", value)]
    if isinstance(value, list | tuple):
        return list(value[1:] if value and value[0] in {None, -1} else value)  # Keras's batch
    return [value]


def _is_side(name: str, keys: Collection[str]) -> bool:
    return name in ONE_SIDE and "image" in keys and "hidden" not in keys


def fault_of_shape(name: str, given: Mapping[str, object], keys: Collection[str]) -> str:
    """Return why a shape is not an image that is planned; empty if the name is none of a shape."""
    if "image" not in keys or not (plain(name) in SHAPES or _is_side(plain(name), keys)):
        return ""
    written = [_sides(each) for other, each in given.items() if plain(other) in SHAPES | ONE_SIDE]
    if any(_stated(plain(other), each, given, keys) for other, each in given.items() if plain(other) == plain(name)):
        return "contradicts image or channels; keep one of them"
    sides = sorted(each for one in written for each in one if isinstance(each, int))[-2:]
    square = f"; use image: {round(sqrt(prod(sides)))}, which has as many pixels" if sides and prod(sides) > 0 else ""
    return f"only square images with their channels first or last are planned{square}"


def _of_shape(sides: "list[object] | tuple[object, ...]", keys: Collection[str]) -> dict[str, object]:
    """Return pixels and channels of an image, or the number of features."""
    whole = [each for each in sides if isinstance(each, int) and not isinstance(each, bool)]
    if len(whole) != len(sides) or not whole:
        return {}
    if "image" in keys and len(whole) < IMAGE_SIDES:  # without channels
        return {"image": whole[0]} if whole[0] == whole[-1] else {}
    if "image" in keys and len(whole) == IMAGE_SIDES:
        square = {whole[0]: whole[2], whole[2]: whole[0]}.get(whole[1])  # channels are first or last
        return {} if square is None else {"image": whole[1], "channels": square}
    return {"d_in": prod(whole)} if "d_in" in keys else {}
