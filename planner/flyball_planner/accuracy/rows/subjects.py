"""The subject of a row: a well-known model by name, or the shape whose parameters are nearest to the row's."""

import re
from collections.abc import Iterator

from msgspec.structs import replace

from flyball_planner.accuracy.result import Unsuited
from flyball_planner.accuracy.rows.images import image_model, is_image_model
from flyball_planner.accuracy.rows.vocabulary import RANGE, count, refuse, words
from flyball_planner.accuracy.tables import RowConfiguration
from flyball_planner.models.cost import ModelCost
from flyball_planner.models.transformer.counts import parameters
from flyball_planner.models.transformer.named_shapes import named_shape
from flyball_planner.models.transformer.shape import Head, NormKind, TransformerKind, TransformerShape
from flyball_reports.errors import UnknownName

Subject = TransformerShape | ModelCost

HEADS_OF_WIDTH = {14_400: 96, 13_824: 64}
"""Heads of models whose rows lack them, by their width: the 200B model and "all NHEADS=64 (above too)" of BigScience
(bigscience-workshop/bigscience, train/tr11-176B-ml/chronicles-prequel.md). No other table leaves them out."""


def read_subject(configuration: RowConfiguration) -> Subject:
    """Return the model of a row; raises `Unsuited` without a known name or dimensions."""
    if is_image_model(configuration):
        return image_model(configuration)
    shape = _nearest_shape(configuration) if configuration["hidden"] else _named(configuration)
    untied = words(configuration, "framework").startswith("litgpt")  # its models have a separate output matrix
    return replace(shape, tied=False) if untied else shape


def read_sequence(configuration: RowConfiguration) -> int:
    """Return the tokens of a sample, or 1 for images. Of "max 512", it is the upper limit: the longest sample of a run
    decides its peak."""
    if is_image_model(configuration):
        return 1
    text = words(configuration, "seq_len_or_input")
    found = re.search(r"\d+", text)
    if found is None:
        raise Unsuited("the row has no sequence")
    if "unpacked" in text or RANGE.search(text):
        raise refuse("seq_len_or_input", text, "the length of the samples is not stated")
    return int(found[0])


def _named(configuration: RowConfiguration) -> TransformerShape:
    recipe = re.search(r"litgpt (\S+)/\S+\.yaml", words(configuration, "framework"))
    name = recipe[1] if recipe else words(configuration, "model")
    plain = re.sub(r"\(.*?\)|[_ -]squad", "", name).strip().replace("_", "-").replace(" ", "-")
    plain = re.sub(r"^gemma2-?(\d)", r"gemma-2-\1", plain)
    try:
        return named_shape(plain)
    except UnknownName as unknown:
        raise Unsuited(f"{configuration['model']} is not a known model, and the row has no dimensions") from unknown


def _nearest_shape(configuration: RowConfiguration) -> TransformerShape:
    wanted = configuration.number("params")
    shapes = list(_candidates(configuration))
    if wanted is None:
        return shapes[0]
    return min(shapes, key=lambda shape: abs(parameters(shape).total - wanted))


def _candidates(configuration: RowConfiguration) -> Iterator[TransformerShape]:
    plain = _plain_shape(configuration)
    if configuration["arch"] == "encoder":
        yield replace(
            plain, kind=TransformerKind.ENCODER, type_vocab=2, max_positions=512, embedding_norm=True, final_norm=False,
            pooler=True, head=Head.PRETRAINING, output_bias=True,
        )  # fmt: skip
        return
    llama = replace(
        plain, gated=True, norm=NormKind.RMS, norm_bias=False, qkv_bias=False, attention_output_bias=False,
        ffn_bias=False, dropout=False, max_positions=0,
    )  # fmt: skip
    gated_first = configuration["ffn"] and configuration.number("ffn") != 4 * plain.hidden
    for shape in (llama, plain) if gated_first else (plain, llama):
        yield replace(shape, tied=shape is plain)
        yield replace(shape, tied=shape is not plain)
        yield replace(shape, tied=shape is plain, max_positions=0)


def _plain_shape(configuration: RowConfiguration) -> TransformerShape:
    hidden = count(configuration, "hidden")
    if not configuration["vocab"]:
        raise Unsuited("the row has no vocabulary")
    heads = count(configuration, "heads", HEADS_OF_WIDTH.get(hidden))
    shape = TransformerShape(
        kind=TransformerKind.DECODER,
        layers=count(configuration, "n_layers", 1),
        hidden=hidden,
        heads=heads,
        ffn=count(configuration, "ffn", 4 * hidden),
        vocab=count(configuration, "vocab"),
        kv_heads=count(configuration, "kv_heads", heads),
        head_dim=max(1, hidden // heads),
        max_positions=read_sequence(configuration),
        name=configuration["model"],
    )
    return shape if configuration["n_layers"] else replace(shape, layers=_layers(configuration, shape))


def _layers(configuration: RowConfiguration, one_layer: TransformerShape) -> int:
    """Return the number of layers that matches the parameters, in equal stages."""
    wanted = configuration.number("params")
    if wanted is None:
        raise Unsuited("the row has neither layers nor parameters")
    counted = parameters(one_layer)
    stages = count(configuration, "pp", 1)
    return max(1, round((wanted - counted.total + counted.layer) / counted.layer / stages)) * stages
