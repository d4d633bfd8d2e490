"""Published peaks of single-device trainings that no constant of the memory model was chosen by.

Two sources. Hugging Face's documentation of training BERT-large (performance.mdx of transformers 4.19): a V100 with 16
GB, sequences of 512 tokens, nvidia-smi's figure, attention with materialised scores. The README of Qwen: finetuning
Qwen-7B and Qwen-14B with LoRA of rank 64 on all products, batch 1, flash attention, gradient checkpointing, in GB on an
A100 with 80 GB.
"""

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from flyball_planner.catalogue.devices import find_device
from flyball_planner.catalogue.hardware import ComputeDevice
from flyball_planner.interval import Interval
from flyball_planner.layouts.layout import Layouts, ParallelLayout
from flyball_planner.memory.constants import MIB
from flyball_planner.memory.estimate import estimate_memory
from flyball_planner.models.transformer.named_shapes import named_shape
from flyball_planner.models.transformer.shape import Head, NormKind, TransformerKind, TransformerShape
from flyball_planner.optimizers import find_optimizer
from flyball_planner.precision import PRECISIONS
from flyball_planner.training import Attention, Checkpointing, Lora, Method, Training


class PublishedPeak(Struct, frozen=True):
    """One published run, and the memory that the driver showed."""

    name: str
    shape: TransformerShape
    training: Training
    layout: ParallelLayout
    device: ComputeDevice
    measured: float

    @property
    def predicted(self) -> Interval:
        """Return the driver's figure as a plan states it."""
        return estimate_memory(self.shape, self.training, Layouts.of(self.layout), self.device).driver[0]


def bert_large() -> Iterator[PublishedPeak]:
    """Yield the eight runs of BERT-large as a classifier: plain, accumulated, checkpointed, fp16, other optimizers."""
    shape = replace(named_shape("bert-large-uncased"), head=Head.LABELS, pooler=True)
    plain = Training(
        512, 4, find_optimizer("adamw"), PRECISIONS["fp32"], attention=Attention.MATERIALISED
    )  # the optimizer of that time, AdamW in Python, updates one tensor after another
    plain = replace(plain, optimizer=replace(plain.optimizer, transient_bytes=0.0), gradients_persist=True)
    half = replace(plain, precision=PRECISIONS["fp16-autocast"])
    whole, single = ParallelLayout(micro_batch=4), ParallelLayout(micro_batch=1)
    again = replace(single, checkpointing=Checkpointing.FULL)
    for name, training, layout, measured in (
        ("fp32", plain, whole, 14949),
        ("fp32, accumulated", plain, single, 8681),
        ("fp32, accumulated, checkpointed", plain, again, 6775),
        ("fp16", half, whole, 13939),
        ("fp16, accumulated, checkpointed", half, again, 7275),
        ("adafactor", replace(plain, optimizer=find_optimizer("adafactor")), whole, 12295),
        (
            "adafactor, fp16, accumulated, checkpointed",
            replace(half, optimizer=find_optimizer("adafactor")),
            again,
            4847,
        ),
        ("8-bit Adam", replace(plain, optimizer=find_optimizer("adamw-8bit")), whole, 13085),
        (
            "8-bit Adam, fp16, accumulated, checkpointed",
            replace(half, optimizer=find_optimizer("adamw-8bit")),
            again,
            5363,
        ),
    ):
        yield PublishedPeak(name, shape, training, layout, find_device("V100 SXM2 16GB"), measured * MIB)


def qwen() -> Iterator[PublishedPeak]:
    """Yield LoRA of Qwen-7B and Qwen-14B at six lengths."""
    small = TransformerShape(
        TransformerKind.DECODER, 32, 4096, 32, 11_008, 151_936, 32, 128, gated=True, tied=False, norm=NormKind.RMS,
        norm_bias=False, attention_output_bias=False, ffn_bias=False, dropout=False,
    )  # fmt: skip
    large = replace(small, layers=40, hidden=5120, heads=40, kv_heads=40, ffn=13_696, vocab=152_064)
    training = Training(
        256, 8, find_optimizer("adamw"), PRECISIONS["bf16"], method=Method.LORA,  # PEFT keeps additions in fp32
        lora=Lora(64, ("q", "k", "v", "o", "gate", "up", "down")),
    )  # fmt: skip
    layout = ParallelLayout(micro_batch=1, checkpointing=Checkpointing.FULL)
    lengths = (256, 512, 1024, 2048, 4096, 8192)
    for name, shape, sizes in (
        ("Qwen-7B", small, (20.1, 20.4, 21.5, 23.8, 29.7, 36.6)),
        ("Qwen-14B", large, (34.6, 35.1, 35.3, 37.4, 42.5, 55.2)),
    ):
        for length, size in zip(lengths, sizes, strict=True):
            longer = replace(training, sequence=length)
            yield PublishedPeak(f"{name}, {length}", shape, longer, layout, find_device("A100_80GB"), size * 1e9)
