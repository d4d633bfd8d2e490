"""Finds the model of a row in the table of parameters: a class of transformers, a known name, or dimensions."""

import re

from msgspec import Struct
from msgspec.structs import replace

from flyball_planner.accuracy.result import Unsuited
from flyball_planner.accuracy.tables import RowConfiguration
from flyball_planner.models.convolution.published import published_cost
from flyball_planner.models.transformer.cost import transformer_cost
from flyball_planner.models.transformer.counts import parameters
from flyball_planner.models.transformer.huggingface.reader import family_of_class, shape_from_huggingface
from flyball_planner.models.transformer.huggingface.settings import SUFFIXES
from flyball_planner.models.transformer.named_shapes import named_shape
from flyball_planner.models.transformer.shape import Head, TransformerShape
from flyball_reports.errors import UnknownName

CLASS = re.compile(rf"\b[A-Z]\w*?(?:{'|'.join(SUFFIXES)})\b")
COLUMNS = {
    "n_layers": "num_hidden_layers",
    "d_model": "hidden_size",
    "n_heads": "num_attention_heads",
    "n_kv_heads": "num_key_value_heads",
    "head_dim": "head_dim",
    "d_ff": "intermediate_size",
    "vocab": "vocab_size",
    "max_pos": "max_position_embeddings",
}
"""The table's columns, and the names of a configuration."""

EXTRAS = {
    "experts": ("num_local_experts", "num_experts", "n_routed_experts"),
    "top_k": ("num_experts_per_tok",),
    "type_vocab": ("type_vocab_size",),
    "bias": ("bias", "attention_bias"),
    "image": ("image_size",),
    "patch": ("patch_size",),
    "labels": ("num_labels",),
}
"""Short names in the column of extras; other names there are those of a configuration."""

SPARE_POSITIONS = 2  # OPT and BART have two unused rows; tables count the rows
MEGATRON_VOCABULARY = 51_200  # GPT-2's 50,257, padded (Shoeybi et al. 2019, §3; Narayanan et al. 2021, §5.1)
MEGATRON_POSITIONS = 1_024  # of the first paper; the second one's tables state theirs
DIVISIBLE_BY = 8  # padding of NVIDIA's BERT vocabulary (DeepLearningExamples, run_squad.py)


class CountedModel(Struct, frozen=True):
    """The counts of a row's model."""

    parameters: float
    forward_flops: float


def counted_model(configuration: RowConfiguration) -> CountedModel:
    """Return the model of a row; raises `Unsuited` without a known name or dimensions."""
    if configuration["arch"] in {"cnn", "vit"} and not configuration["d_model"]:
        return _of_images(configuration)
    shape = _shape(configuration)
    buffers = shape.layers * shape.head_dim // 2 if "inv_freq" in _remarks(configuration) else 0
    count = parameters(shape).total + buffers
    if shape.patches:
        return CountedModel(count, transformer_cost(shape).forward_flops)
    return CountedModel(count, 0.0)


def _of_images(configuration: RowConfiguration) -> CountedModel:
    name = configuration["model"].rsplit("/", 1)[-1]
    found = re.search(r"x(\d+)x\d+", configuration["input"])
    image = int(found[1]) if found else 0
    try:
        cost = transformer_cost(_of_image_size(name, image))
    except UnknownName:
        try:
            cost = published_cost(name, image=image)
        except UnknownName as unknown:
            raise Unsuited(f"{name} is not a known network, and the row has no layers") from unknown
    return CountedModel(cost.parameters, cost.forward_flops)


def _of_image_size(name: str, image: int) -> TransformerShape:
    """Return a vision transformer by a name with or without an image size."""
    try:
        shape = named_shape(name)
    except UnknownName:
        shape = named_shape(re.sub(r"_\d{3}$", "", name))
    if shape.patches is None:
        raise UnknownName("vision transformer", name, ())
    return replace(shape, patches=replace(shape.patches, image=image or shape.patches.image))


def _shape(configuration: RowConfiguration) -> TransformerShape:
    named = CLASS.search(configuration["extra"])
    if named and configuration["d_model"]:
        return _of_class(configuration, named[0])
    if configuration["d_model"]:
        return _of_dimensions(configuration)
    return _of_name(configuration)


def _of_class(configuration: RowConfiguration, name: str) -> TransformerShape:
    family = family_of_class(name)
    config = {**_dimensions(configuration), **_extras(configuration)}
    for usual, of_decoder in (("num_hidden_layers", "decoder_layers"), ("intermediate_size", "decoder_ffn_dim")):
        if usual in config:  # a row describes one stack; the other has the same depth and width
            config.setdefault(of_decoder, config[usual])
    positions = config.get("max_position_embeddings")
    if family.model_types[0] in {"opt", "bart", "mbart"} and isinstance(positions, int):
        config["max_position_embeddings"] = positions - SPARE_POSITIONS
    if family.model_types[0] == "falcon" and config.get("num_key_value_heads", 1) not in {
        1,
        config["num_attention_heads"],
    }:
        config["new_decoder_architecture"] = True
    return shape_from_huggingface({**config, "model_type": family.model_types[0], "architectures": [name]})


def _of_dimensions(configuration: RowConfiguration) -> TransformerShape:
    """Return a shape like GPT-2, or like Llama for grouped keys or another width."""
    config = {"num_attention_heads": 1, **_dimensions(configuration)}
    hidden = configuration.count("d_model", 1)
    grouped = config.get("num_key_value_heads", config["num_attention_heads"]) != config["num_attention_heads"]
    if grouped or config.get("intermediate_size", 4 * hidden) != 4 * hidden:
        return shape_from_huggingface({**config, "model_type": "llama"})
    padded = {"vocab_size": MEGATRON_VOCABULARY, "max_position_embeddings": MEGATRON_POSITIONS}
    shape = shape_from_huggingface({**padded, **config, "model_type": "gpt2"})
    return replace(shape, final_norm=not re.search(r"(without|no) (the )?final norm", _remarks(configuration)))


def _of_name(configuration: RowConfiguration) -> TransformerShape:
    name = configuration["model"]
    try:
        shape = named_shape(name)
    except UnknownName as unknown:
        raise Unsuited(f"{name} is not a known model, and the row has no dimensions") from unknown
    if "untied" in _remarks(configuration):  # published weights store the output separately, whatever the class does
        shape = replace(shape, tied=False)
    return _squad(shape) if "squad" in name.casefold() and shape.type_vocab else shape


def _squad(shape: TransformerShape) -> TransformerShape:
    """Return NVIDIA's BERT for question answering: a padded vocabulary, and an unused pooler."""
    vocab = -(-shape.vocab // DIVISIBLE_BY) * DIVISIBLE_BY
    return replace(shape, vocab=vocab, head=Head.LABELS, labels=2, output_bias=True, pooler=True)


def _dimensions(configuration: RowConfiguration) -> dict[str, object]:
    config: dict[str, object] = {
        name: configuration.count(column, 0) for column, name in COLUMNS.items() if configuration[column]
    }
    if configuration["tied_embeddings"]:
        config["tie_word_embeddings"] = configuration["tied_embeddings"] == "True"
    return config


def _extras(configuration: RowConfiguration) -> dict[str, object]:
    pairs = re.findall(r"(\w+)=(\S+)", configuration["extra"])
    return {name: _value(text) for short, text in pairs for name in EXTRAS.get(short, (short,))}


def _value(text: str) -> object:
    bare = text.rstrip(",;")
    if bare in {"True", "False"}:
        return bare == "True"
    return int(bare) if bare.isdigit() else bare


def _remarks(configuration: RowConfiguration) -> str:
    return f"{configuration['extra']} {configuration['params_kind']}"
