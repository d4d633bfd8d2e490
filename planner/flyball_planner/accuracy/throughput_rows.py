"""Converts rows of a throughput table to runs that can be timed, on the machine of the row."""

import re

from msgspec import Struct
from msgspec.structs import replace

from flyball_planner.accuracy.result import Unsuited
from flyball_planner.accuracy.rows.images import image_size
from flyball_planner.accuracy.rows.settings import framework_is, read_device, read_layout, read_training
from flyball_planner.accuracy.rows.subjects import read_subject
from flyball_planner.accuracy.rows.vocabulary import words
from flyball_planner.accuracy.tables import RowConfiguration
from flyball_planner.catalogue.devices import find_device
from flyball_planner.catalogue.hardware import ComputeDevice, DeviceLink, TrainingMachine
from flyball_planner.layouts.layout import ParallelLayout
from flyball_planner.models.convolution.published import is_variant
from flyball_planner.models.cost import ModelCost
from flyball_planner.models.transformer.shape import TransformerShape
from flyball_planner.precision import WIDTHS_BYTES, NumberFormat, Precision
from flyball_planner.timing.image_law import LAW_SPREAD, image_network
from flyball_planner.timing.measured_images import (
    MEASURED_SPREAD,
    SLOW_SPREAD,
    has_fixed_groups,
    measured_network,
)
from flyball_planner.timing.sample_extent import layers_of
from flyball_planner.training import Attention, Training

FABRICS: tuple[tuple[str, float], ...] = (
    # Names of interconnects, and bytes per second of one device's share in one direction.
    ("400 gb/s rdma per gpu", 50e9),
    ("4x omni-path per node", 4 * 12.5e9 / 8),  # Jean Zay: four Omni-Path 100 adapters for eight devices
    ("1600 gbps", 200e9 / 8),
    ("inter-node 800 gbps", 100e9 / 8),
    ("400 gb/s per node", 50e9 / 8),
)
NODE_FABRICS: tuple[tuple[str, float], ...] = (
    # By default: the vendor's own system with these devices (DGX data sheets).
    ("b300", 100e9),
    ("b200", 50e9),
    ("h200", 50e9),
    ("h100", 50e9),
    ("h800", 50e9),
    ("a100", 25e9),
    ("a800", 25e9),
    ("v100", 6.25e9),
)
LATENCY_SECONDS = 2e-6  # of a message through two adapters and a switch, in addition to the libraries' time
RACK_DEVICES = 72  # of GB200 and GB300: one NVLink domain
UNPADDED_TOKENS = 256
"""NVIDIA's BERT skips padding, which is half of its samples of 512 tokens (MLPerf's BERT data). With all tokens, its
FP32 rows would exceed the peak of the hardware."""
INTERLEAVING = ("megatron-core", "megatron-bridge")
"""Frameworks that overlap a pipeline's messages by default, which requires several chunks per stage."""
MISSING = frozenset({"", "n/a"})
OLD_MEGATRON = re.compile(r"megatron-(lm|style|deepspeed)")
"""Frameworks that reduce gradients after the backward pass; Megatron-Core overlaps both."""
ARXIV = re.compile(r"\b([12]\d(?:0[1-9]|1[0-2]))\.\d{4,5}\b")  # year and month, then a serial number
BEFORE_FLASH = 2206
"""Year and month of an arXiv number. Flash attention was published in May 2022 (arXiv 2205.14135), so what was printed
before June stored the scores."""
FUSING = (
    "compile", "llm.c", "mxnet", "fused kernels", "megatron-bridge", "megatron-core", "megatron-lm",
    "transformer engine",
)  # fmt: skip
"""Frameworks and libraries with fused elementwise kernels, by their names in the tables (Narayanan et al. 2021, section
4.2; NVIDIA Transformer Engine)."""

VARIANT_SPREAD = 0.2
"""Standard deviation of the logarithm of the time between implementations of the same layers, such as TensorFlow's
padding or other norms and activations. Assumed."""


class ThroughputRun(Struct, frozen=True):
    """A row as the planner sees it."""

    subject: TransformerShape | ModelCost
    training: Training
    layout: ParallelLayout
    machine: TrainingMachine
    spread: float = 0.0  # additional standard deviation of the time's logarithm for poorly known models

    @property
    def tokens(self) -> float:
        """Return the tokens of one step."""
        return float(self.training.global_batch * self.training.sequence)


def run_of(row: RowConfiguration) -> ThroughputRun:
    """Return the run that a row describes; raises `Unsuited` if it is incomplete."""
    if row.count("n_gpus", 1) > 1 and not any(row[name] for name in ("tp", "pp", "dp", "zero_or_fsdp")):
        raise Unsuited("the row has no layout")
    subject, spread = _subject(row)
    machine = _machine(row)
    given = read_layout(row)
    tensor, pipeline, context = given.tensor, given.pipeline, given.context
    if machine.devices % (tensor * pipeline * context):
        raise Unsuited(f"{machine.devices} devices are not a multiple of {tensor} × {pipeline} × {context}")
    layout = replace(given, devices=machine.devices, devices_a_node=machine.devices_a_node)
    if pipeline > 1 and not (row["micro_batch"] or row["grad_accum"]):
        layout = replace(layout, micro_batch=1)  # not stated; the value with the smallest pipeline bubble
    if pipeline > 1 and row["vpp"] in MISSING and words(row, "framework").startswith(INTERLEAVING):
        layout = replace(layout, interleave=_usual_interleave(subject, pipeline))
    training = _timed_training(row, read_training(row))
    if usual := re.search(r"batch not in the table \(script default (\d+)\)", row["notes"]):
        layout = replace(layout, micro_batch=int(usual[1]))
        training = replace(training, global_batch=layout.micro_batch * layout.data)
    return ThroughputRun(subject, training, layout, machine, spread)


def _usual_interleave(subject: TransformerShape | ModelCost, pipeline: int) -> int:
    """Return chunks of two layers, or of one if the number is odd."""
    held = layers_of(subject) / pipeline if isinstance(subject, TransformerShape) else 1.0
    return max(1, int(held / (1 if held % 2 else 2)))


def _subject(row: RowConfiguration) -> tuple[TransformerShape | ModelCost, float]:
    """Return the model, and its uncertainty."""
    parameters, side = row.number("params"), image_size(row)
    try:
        return read_subject(row), VARIANT_SPREAD if is_variant(row["model"]) else 0.0
    except Unsuited:
        if parameters is None or side is None:
            raise
        return _measured(row, side) or (image_network(row["model"], int(parameters), side), LAW_SPREAD)


def _measured(row: RowConfiguration, side: int) -> tuple[ModelCost, float] | None:
    """Return a network by its published speed, and its uncertainty."""
    text = words(row, "precision", "framework")
    planar, old = "nchw" in text, "pytorch 1." in text
    slow = old and not planar and has_fixed_groups(row["model"])
    found = measured_network(row["model"], side, planar=planar, old=old, slow_groups=slow)
    return None if found is None else (found, SLOW_SPREAD if slow else MEASURED_SPREAD)


def _timed_training(row: RowConfiguration, training: Training) -> Training:
    """Return the training with settings that only matter for time."""
    text = words(row, "framework")
    unpadded = framework_is(row, "pytorch 21.11 apex") and training.sequence == 512
    framework = _timed_framework(text, training)
    return replace(
        training,
        framework=framework,
        precision=_timed_precision(text, training.precision),
        attention=training.attention if row["attention"] or not _before_flash(row) else Attention.MATERIALISED,
        compiled=training.compiled or _fuses(text, training),
        fused_loss=training.fused_loss or framework in {"llm.c", "megatron"},
        sequence=UNPADDED_TOKENS if unpadded else training.sequence,
    )


def _timed_precision(text: str, precision: Precision) -> Precision:
    """Return the precision; Megatron Bridge's speed recipes reduce gradients in 16 bits (grad_reduce_in_fp32=False)."""
    if precision.autocast and text.startswith("megatron-bridge"):
        return replace(precision, gradients=NumberFormat.BF16)
    return precision


def _timed_framework(text: str, training: Training) -> str:
    """Return the family of frameworks that overlap the same work."""
    if old := OLD_MEGATRON.search(text):
        return "deepspeed" if old[1] == "deepspeed" else "megatron-lm"
    if training.framework == "pytorch" and re.search(r"async\s?tp", text):
        return "pytorch-async"
    return "llm.c" if "llm.c" in text else training.framework


def _before_flash(row: RowConfiguration) -> bool:
    """Return True if the row was printed before flash attention existed."""
    number = ARXIV.search(row["source"])
    return number is not None and int(number[1]) < BEFORE_FLASH


def _fuses(text: str, training: Training) -> bool:
    """Return True for fused kernels; MXNet's fused norms only exist in 16 bits."""
    if "mxnet" in text and WIDTHS_BYTES[training.precision.activations] > WIDTHS_BYTES[NumberFormat.BF16]:
        return False
    return any(each in text for each in FUSING)


def _machine(row: RowConfiguration) -> TrainingMachine:
    device = _adjusted(read_device(row), row["gpu"])
    devices = row.count("n_gpus", 1)
    name, interconnect = words(row, "gpu"), words(row, "interconnect")
    node = min(RACK_DEVICES, devices) if "gb200" in name or "gb300" in name else row.count("gpus_per_node", 8)
    speeds = [speed for each, speed in FABRICS if each in interconnect] + [
        speed for each, speed in NODE_FABRICS if each in name
    ]
    network = DeviceLink(row["interconnect"] or "the vendor's system", speeds[0], LATENCY_SECONDS) if speeds else None
    return TrainingMachine(device, devices, node, network)


def _adjusted(device: ComputeDevice, text: str) -> ComputeDevice:
    """Return the catalogue's device with the row's memory bandwidth and power instead of the vendor's values."""
    if found := re.search(r"([\d.]+) TB/s", text):
        device = replace(device, memory_bytes_per_second=float(found[1]) * 1e12)
    found = re.search(r"(\d+) W cap", text)
    if not found:
        return device
    usual = find_device(re.split(r"[-\s]", text)[0]).power_watts or float(found[1])
    share = min(1.0, float(found[1]) / usual)  # under a power cap, the clock follows the power
    capped = {each: rate * share for each, rate in device.flops_per_second.items()}
    return replace(device, power_watts=float(found[1]), flops_per_second=capped)
