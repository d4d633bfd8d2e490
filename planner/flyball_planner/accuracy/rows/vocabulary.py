"""The words of tables that the readers understand. A row with any other word is refused."""

import re
from collections.abc import Collection

from flyball_planner.accuracy.result import Unsuited
from flyball_planner.accuracy.tables import RowConfiguration, number

ASIDE = re.compile(r"\([^()]*\)")
RANGE = re.compile(r"^\d+\s*(?:[-–/x×+]|to|or)\s*\d+", re.IGNORECASE)

_METHODS = """
    pretrain pretraining pre training train from scratch full finetune finetuning fine tuning tune tuned ft sft
    supervised instruction continued continual all parameter parameters weights lora qlora dora ia3 single device
    distributed with on r rank targets linear layers matrices q k v o gate up down proj nf4 4bit 4 bit bnb bitsandbytes
    double quant quantization quantisation over
"""
METHODS = frozenset(_METHODS.split())
_OPTIMIZERS = """
    adam adamw adam8bit adamw8bit pagedadamw pagedadamw8bit fusedadam fusedadamw sgd momentum nesterov adafactor lamb
    lion adagrad rmsprop muon fused foreach paged torch apex bnb bitsandbytes deepspeed 8 8bit bit bits 32 32bit fp32 in
    into bwd bw backward pass optimizer optim step the cpu gpu offload offloaded no not without with on and none off
    distributed states moments recipe default true
"""
OPTIMIZERS = frozenset(_OPTIMIZERS.split())
"""Words of optimizers whose memory is known. Moments in 16 or 8-bit floating point, 4-bit moments, and optimizers that
project gradients (GaLore, APOLLO) are not among them."""
CHECKPOINTING = {
    **dict.fromkeys(("", "none", "no", "off", "false", "0", "n/a", "disabled", "without"), "none"),
    **dict.fromkeys(("full", "true", "yes", "on", "enabled", "full + offload", "block", "full block"), "full"),
    **dict.fromkeys(("all layers", "every layer", "full recompute", "full recomputation"), "full"),
    **dict.fromkeys(("gradient checkpointing", "activation checkpointing", "full activation checkpointing"), "full"),
    **dict.fromkeys(("selective", "selective op", "selective per-op", "selective layer"), "selective"),
}
SHARDING = re.compile(
    r"zero[- ]?(?:stage[- ]?)?[0-3]\b(?!\s*\+\+)|fsdp2?|ddp|data[- ]parallel|distributed optimizer|"
    r"^\s*(none|no|no sharding|replicated|single|single[- ]gpu|n/a)?\s*$"
)
OTHER_SHARDING = re.compile(r"infinity|\+\+|zeropp|\bmics\b|gemini|nvme|\bauto\b|ratio|partial|%|\btwinflow\b")
FLASH = re.compile(r"flash|sdpa|xformers|memory[- ]efficient|cudnn|fa[23]\b|te\b|transformer engine")
SCORES = re.compile(r"eager|standard|unfused|materiali[sz]ed|math|vanilla|naive|baddbmm|none")
TRUE, FALSE = frozenset({"true", "1", "yes", "on"}), frozenset({"", "false", "0", "no", "off", "none", "n/a"})

FRAMEWORKS = (
    "pytorch", "torch", "litgpt", "lit-gpt", "timm", "composer", "llm-foundry", "fsdp", "deepspeed", "megatron", "nemo",
    "deeplearningexamples", "apex", "mxnet", "llm.c", "hugging face", "huggingface", "transformers", "trl", "peft",
    "accelerate", "lightning", "axolotl", "llama-factory", "fairseq",
)  # fmt: skip
"""Frameworks that keep weights, gradients and buffers like PyTorch, Megatron or DeepSpeed, by their names."""


def words(configuration: RowConfiguration, *columns: str) -> str:
    """Return some columns as one text in lower case."""
    return " ".join(configuration[column] for column in columns).casefold()


def without_asides(text: str) -> str:
    """Return a text without its parts in brackets, which explain the rest."""
    return " ".join(ASIDE.sub(" ", text).split())


def refuse(column: str, text: str, why: str) -> Unsuited:
    """Return the error of a cell that is not understood."""
    return Unsuited(f"{column} is {text!r}: {why}")


def check_words(column: str, text: str, known: Collection[str]) -> None:
    """Raise `Unsuited` if a cell contains a word that is not known."""
    for word in re.findall(r"[a-z0-9]+", without_asides(re.sub(r"\b(r|rank)\s?=?\s?\d+", r"\1", text))):
        if word not in known:
            raise refuse(column, text, f"{word!r} is not understood")


def count(configuration: RowConfiguration, column: str, otherwise: int | None = None) -> int:
    """Return a cell as an integer of at least 1. An empty one is `otherwise`, or an error without it."""
    text = configuration[column]
    if not text or text.casefold() == "n/a":
        if otherwise is None:
            raise Unsuited(f"the row has no {column}")
        return otherwise
    found = None if RANGE.match(text) else number(text)
    if found is None or found < 1:
        raise refuse(column, text, "expected a number of at least 1")
    return round(found)


def flag(configuration: RowConfiguration, column: str) -> bool | None:
    """Return a cell as true or false; None if it is empty."""
    text = words(configuration, column)
    if not text:
        return None
    if text not in TRUE | FALSE:
        raise refuse(column, text, "expected true or false")
    return text in TRUE
