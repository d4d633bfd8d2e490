"""Which model a row of the table of parameters means: a class of transformers, a known name, or plain dimensions."""

import re

from msgspec import Struct
from msgspec.structs import replace

from flyball_planner.accuracy.result import Unsuited
from flyball_planner.accuracy.tables import Configuration
from flyball_planner.models.convolution.published import published_cost
from flyball_planner.models.transformer.cost import transformer_cost
from flyball_planner.models.transformer.counts import parameters
from flyball_planner.models.transformer.huggingface.read import family_of_class, shape_from_huggingface
from flyball_planner.models.transformer.huggingface.settings import SUFFIXES
from flyball_planner.models.transformer.named import named_shape
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
"""The table's columns, and what a configuration calls them."""

EXTRAS = {
    "experts": ("num_local_experts", "num_experts", "n_routed_experts"),
    "top_k": ("num_experts_per_tok",),
    "type_vocab": ("type_vocab_size",),
    "bias": ("bias", "attention_bias"),
    "image": ("image_size",),
    "patch": ("patch_size",),
    "labels": ("num_labels",),
}
"""Short names in the column of extras; what is not here is a configuration's own name."""

SPARE_POSITIONS = 2  # OPT and BART keep two rows more than they use; tables tell the rows
MEGATRON_VOCABULARY = 51_200  # GPT-2's 50,257, padded (Shoeybi et al. 2019, §3; Narayanan et al. 2021, §5.1)
MEGATRON_POSITIONS = 1_024  # of the first of the two; the second's tables tell theirs
DIVISIBLE_BY = 8  # NVIDIA's BERT pads its vocabulary so (DeepLearningExamples, run_squad.py)


class CountedModel(Struct, frozen=True):
    """What a row's model has and computes."""

    parameters: float
    forward_flops: float


def counted_model(configuration: Configuration) -> CountedModel:
    """The model of a row; `Unsuited` where the row tells neither a known name nor dimensions."""
    if configuration["arch"] in {"cnn", "vit"} and not configuration["d_model"]:
        return _of_images(configuration)
    shape = _shape(configuration)
    buffers = shape.layers * shape.head_dim // 2 if "inv_freq" in _remarks(configuration) else 0
    count = parameters(shape).total + buffers
    if shape.patches:
        return CountedModel(count, transformer_cost(shape).forward_flops)
    return CountedModel(count, 0.0)


def _of_images(configuration: Configuration) -> CountedModel:
    name = configuration["model"].rsplit("/", 1)[-1]
    found = re.search(r"x(\d+)x\d+", configuration["input"])
    image = int(found[1]) if found else 0
    try:
        cost = transformer_cost(_of_image_size(name, image))
    except UnknownName:
        try:
            cost = published_cost(name, image=image)
        except UnknownName as unknown:
            raise Unsuited(f"{name} is no known network, and the row tells no layers") from unknown
    return CountedModel(cost.parameters, cost.forward_flops)


def _of_image_size(name: str, image: int) -> TransformerShape:
    """A vision transformer by a name with or without the size of its images."""
    try:
        shape = named_shape(name)
    except UnknownName:
        shape = named_shape(re.sub(r"_\d{3}$", "", name))
    if shape.patches is None:
        raise UnknownName("vision transformer", name, ())
    return replace(shape, patches=replace(shape.patches, image=image or shape.patches.image))


def _shape(configuration: Configuration) -> TransformerShape:
    named = CLASS.search(configuration["extra"])
    if named and configuration["d_model"]:
        return _of_class(configuration, named[0])
    if configuration["d_model"]:
        return _of_dimensions(configuration)
    return _of_name(configuration)


def _of_class(configuration: Configuration, name: str) -> TransformerShape:
    family = family_of_class(name)
    told = {**_dimensions(configuration), **_extras(configuration)}
    for usual, of_decoder in (("num_hidden_layers", "decoder_layers"), ("intermediate_size", "decoder_ffn_dim")):
        if usual in told:  # a row tells one stack; the other is as deep and as wide
            told.setdefault(of_decoder, told[usual])
    positions = told.get("max_position_embeddings")
    if family.model_types[0] in {"opt", "bart", "mbart"} and isinstance(positions, int):
        told["max_position_embeddings"] = positions - SPARE_POSITIONS
    if family.model_types[0] == "falcon" and told.get("num_key_value_heads", 1) not in {1, told["num_attention_heads"]}:
        told["new_decoder_architecture"] = True
    return shape_from_huggingface({**told, "model_type": family.model_types[0], "architectures": [name]})


def _of_dimensions(configuration: Configuration) -> TransformerShape:
    """Without a class: a GPT as GPT-2 is, or as Llama is where the row tells grouped keys or another width."""
    told = {"num_attention_heads": 1, **_dimensions(configuration)}
    hidden = configuration.count("d_model", 1)
    grouped = told.get("num_key_value_heads", told["num_attention_heads"]) != told["num_attention_heads"]
    if grouped or told.get("intermediate_size", 4 * hidden) != 4 * hidden:
        return shape_from_huggingface({**told, "model_type": "llama"})
    padded = {"vocab_size": MEGATRON_VOCABULARY, "max_position_embeddings": MEGATRON_POSITIONS}
    shape = shape_from_huggingface({**padded, **told, "model_type": "gpt2"})
    return replace(shape, final_norm=not re.search(r"(without|no) (the )?final norm", _remarks(configuration)))


def _of_name(configuration: Configuration) -> TransformerShape:
    name = configuration["model"]
    try:
        shape = named_shape(name)
    except UnknownName as unknown:
        raise Unsuited(f"{name} is no known model, and the row tells no dimensions") from unknown
    if "untied" in _remarks(configuration):  # published weights hold the output apart, whatever the class does
        shape = replace(shape, tied=False)
    return _squad(shape) if "squad" in name.casefold() and shape.type_vocab else shape


def _squad(shape: TransformerShape) -> TransformerShape:
    """NVIDIA's question answering over BERT: a padded vocabulary, and a pooler that is carried along."""
    vocab = -(-shape.vocab // DIVISIBLE_BY) * DIVISIBLE_BY
    return replace(shape, vocab=vocab, head=Head.LABELS, labels=2, output_bias=True, pooler=True)


def _dimensions(configuration: Configuration) -> dict[str, object]:
    told: dict[str, object] = {
        name: configuration.count(column, 0) for column, name in COLUMNS.items() if configuration[column]
    }
    if configuration["tied_embeddings"]:
        told["tie_word_embeddings"] = configuration["tied_embeddings"] == "True"
    return told


def _extras(configuration: Configuration) -> dict[str, object]:
    pairs = re.findall(r"(\w+)=(\S+)", configuration["extra"])
    return {name: _value(text) for short, text in pairs for name in EXTRAS.get(short, (short,))}


def _value(text: str) -> object:
    bare = text.rstrip(",;")
    if bare in {"True", "False"}:
        return bare == "True"
    return int(bare) if bare.isdigit() else bare


def _remarks(configuration: Configuration) -> str:
    return f"{configuration['extra']} {configuration['params_kind']}"
