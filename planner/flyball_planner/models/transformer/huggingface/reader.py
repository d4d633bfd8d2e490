"""Converts a Hugging Face `config.json` to a transformer's shape."""

from collections.abc import Mapping
from functools import cache

from flyball_planner.models.transformer.huggingface.settings import SUFFIXES, ConfigFamily
from flyball_planner.models.transformer.shape import TransformerShape
from flyball_reports.errors import InputError, UnknownName

INSTEAD = "describe the model by its shape: layers, hidden, heads, ffn, vocab"


def shape_from_huggingface(config: Mapping[str, object]) -> TransformerShape:
    """Return the shape of a `config.json`; missing settings are the family's defaults in transformers.

    The head follows from `architectures`, or else from how the family is usually trained.
    """
    return family_of(config).shape(config)


def family_of(config: Mapping[str, object]) -> ConfigFamily:
    """Return the family of a configuration by its `model_type`, or else by the name of its class."""
    model_type = config.get("model_type")
    if isinstance(model_type, str) and model_type:
        return _by_type(model_type, config)
    classes = config.get("architectures")
    if isinstance(classes, list | tuple) and classes:
        return family_of_class(str(classes[0]))
    raise InputError('the configuration has no "model_type"; add one, such as "model_type": "llama"')


def family_of_class(name: str) -> ConfigFamily:
    """Return the family of a class of transformers, such as "LlamaForCausalLM"."""
    suffix = next((each for each in SUFFIXES if name.endswith(each)), "")
    stem = _plain(name.removesuffix(suffix))
    known = {_plain(each): family for family in reversed(_families()) for each in family.stems}
    if stem not in known:
        raise UnknownName("family of transformers' classes", name.removesuffix(suffix), known, instead=INSTEAD)
    return known[stem]


def _by_type(model_type: str, config: Mapping[str, object]) -> ConfigFamily:
    known = {name: family for family in _families() for name in family.model_types}
    if model_type not in known:
        part = config.get("text_config")
        language = part.get("model_type") if isinstance(part, Mapping) else None
        if (
            isinstance(language, str) and language in known
        ):  # images or sound with a language model: LLaVA, Mistral 3, Qwen-VL …
            found = f"its language model alone can be planned: pass the keys of its text_config ({language})"
            raise UnknownName("model type", model_type, (), instead=found)
        raise UnknownName("model type", model_type, known, instead=INSTEAD)
    return known[model_type]


@cache
def _families() -> tuple[ConfigFamily, ...]:
    """Import the families only when a configuration is read: thirty modules that most plans do not need."""
    from flyball_planner.models.transformer.huggingface.families import FAMILIES  # noqa: PLC0415

    return FAMILIES


def _plain(name: str) -> str:
    return name.replace("_", "").replace("-", "").casefold()
