"""Read which weights are trained, and how frozen ones are stored: the keys of LoRA, QLoRA and other added weights."""

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from flyball_planner.models.cost import ModelCost
from flyball_planner.models.transformer.shape import TransformerShape
from flyball_planner.quantisation import QUANTISATIONS, Quantisation, quantisation
from flyball_planner.training import Lora, Method
from flyball_reports.specification.sections import SpecificationFaults

MIXED = frozenset({"bf16", "fp16", "amp", "use_amp", "mixed_precision"})
"""Keys that name the arithmetic of mixed precision, but not the format that weights are loaded in."""
LORA_METHODS = frozenset({Method.LORA, Method.QLORA, Method.DORA})
NEEDS: Mapping[str, frozenset[Method]] = {
    "lora_rank": LORA_METHODS,
    "lora_targets": LORA_METHODS,
    "virtual_tokens": frozenset({Method.PREFIX, Method.PROMPT}),
    "bottleneck_width": frozenset({Method.BOTTLENECK}),
}
"""The methods without which a key has no effect."""
QUANTISED = ("quantization", "load_in_4bit", "load_in_8bit")
FURTHER = ("double_quantization", "bnb_4bit_use_double_quant", "bnb_4bit_quant_type", "bnb_4bit_compute_dtype")
"""Details of 4-bit weights, without effect if weights are not in 4 bits."""


class TrainedWeights(Struct, frozen=True):
    """A method, what it adds to frozen weights, and their format."""

    method: Method
    lora: Lora | None = None
    quantisation: Quantisation | None = None
    assumptions: tuple[str, ...] = ()


def read_adaptation(
    values: Mapping[str, Any], subject: TransformerShape | ModelCost, faults: SpecificationFaults
) -> TrainedWeights:
    """Return the method and the format of frozen weights; contradictions are reported."""
    few = _format(values, faults)
    method = values.get("method") or (Method.QLORA if few else Method.FULL)
    if method is Method.FULL and few:
        faults.add("training.method", "quantised weights cannot be trained; use method: qlora")
    if method is Method.QLORA and values.get("quantization") == "none":
        faults.add("training.quantization", "QLoRA trains over quantised weights; use method: lora, or remove this key")
    if method is not Method.FULL and isinstance(subject, ModelCost):
        faults.add("training.method", "added weights are planned for transformers only; use method: full")
    _refuse_idle(values, method, faults)
    return TrainedWeights(method, _lora(values, method), few, tuple(_assumptions(values, method)))


def frozen_precision(name: str, key: str, method: Method) -> str:
    """Return a precision whose frozen weights have 16 bits, if a key only asks for mixed precision.

    Recipes of LoRA and QLoRA load the base model in 16 bits; fp32 weights must be named (`precision: bf16-autocast`).
    """
    loaded = method is not Method.FULL and key.rpartition(".")[2].casefold() in MIXED
    return name.removesuffix("-autocast") if loaded else name


def _lora(values: Mapping[str, Any], method: Method) -> Lora | None:
    if method not in LORA_METHODS:
        return None
    usual = Lora()
    return Lora(values.get("lora_rank", usual.rank), values.get("lora_targets", usual.targets))


def _assumptions(values: Mapping[str, Any], method: Method) -> Iterator[str]:
    """Yield what the keys leave open."""
    if "method" not in values and method is Method.QLORA:
        yield "quantised weights and no method given: low-rank additions are trained (QLoRA)"
    usual = Lora()
    if method in LORA_METHODS and "lora_rank" not in values:
        yield f"no lora_rank given: rank {usual.rank}"
    if method in LORA_METHODS and "lora_targets" not in values:
        yield f"no lora_targets given: {' and '.join(usual.targets)}, as PEFT's default for Llama"


def _format(values: Mapping[str, Any], faults: SpecificationFaults) -> Quantisation | None:
    """Return the format of frozen weights by our key or by those of Hugging Face's BitsAndBytesConfig."""
    given = [name for name in QUANTISED if values.get(name) not in {None, False, "none"}]
    if len(given) > 1 and not _agree(values):
        faults.add(f"training.{given[1]}", f"contradicts {given[0]}; keep one of them")
        return None
    if not given:
        return _default_format(values, faults)
    if "quantization" in given:
        name = str(values["quantization"])
        double = values.get("double_quantization", values.get("bnb_4bit_use_double_quant", not name.endswith("-plain")))
    elif "load_in_8bit" in given:
        name, double = "int8", True
    else:  # BitsAndBytesConfig's own defaults
        name = str(values.get("bnb_4bit_quant_type", "fp4"))
        double = values.get("bnb_4bit_use_double_quant", values.get("double_quantization", False))
    return _named(name, values, double=bool(double))


def _agree(values: Mapping[str, Any]) -> bool:
    """Return True if `quantization` repeats what load_in_4bit or load_in_8bit states."""
    name = str(values.get("quantization", ""))
    eight = bool(values.get("load_in_8bit"))
    return name not in {"", "none"} and (name == "int8") == eight and not (eight and values.get("load_in_4bit"))


def _default_format(values: Mapping[str, Any], faults: SpecificationFaults) -> Quantisation | None:
    """Return QLoRA's format with the given details; other methods have none."""
    details = [name for name in (*FURTHER, "quantized_output", "fp32_rest") if values.get(name) is not None]
    if values.get("method") is not Method.QLORA:
        for name in details:
            faults.add(f"training.{name}", "has no effect without method: qlora or quantization")
        return None
    if not details:
        return None
    double = values.get("double_quantization", values.get("bnb_4bit_use_double_quant", True))
    return _named(str(values.get("bnb_4bit_quant_type", "nf4")), values, double=bool(double))


def _named(name: str, values: Mapping[str, Any], *, double: bool) -> Quantisation:
    plain = name.removesuffix("-plain")
    chosen = plain if double or f"{plain}-plain" not in QUANTISATIONS else f"{plain}-plain"
    return quantisation(chosen, output=values.get("quantized_output", False), wide_rest=values.get("fp32_rest", False))


def _refuse_idle(values: Mapping[str, Any], method: Method, faults: SpecificationFaults) -> None:
    for key, methods in NEEDS.items():
        if key in values and method not in methods:
            words = " or ".join(each.value for each in Method if each in methods)
            faults.add(f"training.{key}", f"has no effect without method: {words}")
