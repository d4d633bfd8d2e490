"""From a row of a throughput table to a run that can be timed: what the row says, and the machine it ran on."""

import re

from msgspec import Struct
from msgspec.structs import replace

from flyball_planner.accuracy.result import Unsuited
from flyball_planner.accuracy.rows.images import image_size
from flyball_planner.accuracy.rows.settings import framework_is, read_device, read_layout, read_training
from flyball_planner.accuracy.rows.subjects import read_subject
from flyball_planner.accuracy.rows.words import words
from flyball_planner.accuracy.tables import Configuration
from flyball_planner.catalogue.devices import find_device
from flyball_planner.catalogue.hardware import Device, Link, Machine
from flyball_planner.layouts.columns import Layout
from flyball_planner.models.convolution.published import is_variant
from flyball_planner.models.cost import ModelCost
from flyball_planner.models.transformer.shape import TransformerShape
from flyball_planner.precision import WIDTHS_BYTES, Format
from flyball_planner.timing.extent import layers_of
from flyball_planner.timing.image_law import LAW_SPREAD, image_network
from flyball_planner.training import Training

FABRICS: tuple[tuple[str, float], ...] = (
    # What a row's interconnect says, and bytes a second of one device's share of it, one way.
    ("400 gb/s rdma per gpu", 50e9),
    ("4x omni-path per node", 4 * 12.5e9 / 8),  # Jean Zay: four Omni-Path 100 adapters for eight devices
    ("1600 gbps", 200e9 / 8),
    ("inter-node 800 gbps", 100e9 / 8),
)
NODE_FABRICS: tuple[tuple[str, float], ...] = (
    # Where the row says nothing: the maker's own system of these devices (DGX data sheets).
    ("b300", 100e9),
    ("b200", 50e9),
    ("h100", 50e9),
    ("a100", 25e9),
    ("v100", 6.25e9),
)
LATENCY_SECONDS = 2e-6  # of a message through two adapters and a switch, beside what the libraries need
RACK_DEVICES = 72  # of GB200 and GB300: one NVLink domain
UNPADDED_TOKENS = 256
"""NVIDIA's BERT skips padding, of which half of its samples of 512 tokens consist (MLPerf's BERT data): with all tokens
its FP32 rows would lie above what the hardware can do at all."""
INTERLEAVING = ("megatron-core", "megatron-bridge")
"""Frameworks that hide a pipeline's messages by default, which they can only where stages hold several chunks."""
UNTOLD = frozenset({"", "n/a"})
FUSING = ("compile", "llm.c", "mxnet", "fused kernels", "megatron-bridge", "megatron-core")
"""Frameworks, as the tables name them, whose kernels do several element-wise steps at once."""

VARIANT_SPREAD = 0.2
"""Deviation of a logarithm: what another implementation of the same layers differs by in time (padding as TensorFlow
does, norms and activations of its own). Assumed."""


class Run(Struct, frozen=True):
    """One row as the planner sees it."""

    subject: TransformerShape | ModelCost
    training: Training
    layout: Layout
    machine: Machine
    spread: float = 0.0  # of its time's logarithm, beyond what every run has: where little is known of the model

    @property
    def tokens(self) -> float:
        """Of one step."""
        return float(self.training.global_batch * self.training.sequence)


def run_of(row: Configuration) -> Run:
    """What a row describes; `Unsuited` where it says too little."""
    if row.count("n_gpus", 1) > 1 and not any(row[name] for name in ("tp", "pp", "dp", "zero_or_fsdp")):
        raise Unsuited("the row does not tell how the model is spread")
    subject, spread = _subject(row)
    machine = _machine(row)
    told = read_layout(row)
    tensor, pipeline, context = told.tensor, told.pipeline, told.context
    if machine.devices % (tensor * pipeline * context):
        raise Unsuited(f"{machine.devices} devices are no multiple of {tensor} × {pipeline} × {context}")
    layout = replace(told, devices=machine.devices, devices_a_node=machine.devices_a_node)
    if pipeline > 1 and not (row["micro_batch"] or row["grad_accum"]):
        layout = replace(layout, micro_batch=1)  # not stated: what keeps a pipeline's bubble smallest
    if pipeline > 1 and row["vpp"] in UNTOLD and words(row, "framework").startswith(INTERLEAVING):
        layout = replace(layout, interleave=_usual_interleave(subject, pipeline))
    training = _timed_training(row, read_training(row))
    if usual := re.search(r"batch not in the table \(script default (\d+)\)", row["notes"]):
        layout = replace(layout, micro_batch=int(usual[1]))
        training = replace(training, global_batch=layout.micro_batch * layout.data)
    return Run(subject, training, layout, machine, spread)


def _usual_interleave(subject: TransformerShape | ModelCost, pipeline: int) -> int:
    """Chunks of two layers, or of one where they come out odd."""
    held = layers_of(subject) / pipeline if isinstance(subject, TransformerShape) else 1.0
    return max(1, int(held / (1 if held % 2 else 2)))


def _subject(row: Configuration) -> tuple[TransformerShape | ModelCost, float]:
    """The model, and what is not known of it."""
    parameters, side = row.number("params"), image_size(row)
    try:
        return read_subject(row), VARIANT_SPREAD if is_variant(row["model"]) else 0.0
    except Unsuited:
        if parameters is None or side is None:
            raise
        return image_network(row["model"], int(parameters), side), LAW_SPREAD


def _timed_training(row: Configuration, training: Training) -> Training:
    """What matters to time beyond what matters to memory."""
    told = words(row, "framework")
    old_megatron = "megatron-style" in told or "megatron-deepspeed" in told  # reduces gradients after the backward pass
    framework = "deepspeed" if old_megatron else "llm.c" if "llm.c" in told else training.framework
    unpadded = framework_is(row, "pytorch 21.11 apex") and training.sequence == 512
    return replace(
        training,
        framework=framework,
        compiled=training.compiled or _fuses(told, training),
        fused_loss=training.fused_loss or framework in {"llm.c", "megatron"},
        sequence=UNPADDED_TOKENS if unpadded else training.sequence,
    )


def _fuses(told: str, training: Training) -> bool:
    """MXNet's fused norms are there in 16 bits alone."""
    if "mxnet" in told and WIDTHS_BYTES[training.precision.activations] > WIDTHS_BYTES[Format.BF16]:
        return False
    return any(each in told for each in FUSING)


def _machine(row: Configuration) -> Machine:
    device = _as_told(read_device(row), row["gpu"])
    devices = row.count("n_gpus", 1)
    name, told = words(row, "gpu"), words(row, "interconnect")
    node = min(RACK_DEVICES, devices) if "gb200" in name or "gb300" in name else row.count("gpus_per_node", 8)
    speeds = [speed for each, speed in FABRICS if each in told] + [
        speed for each, speed in NODE_FABRICS if each in name
    ]
    network = Link(row["interconnect"] or "of the maker's system", speeds[0], LATENCY_SECONDS) if speeds else None
    return Machine(device, devices, node, network)


def _as_told(device: Device, text: str) -> Device:
    """The catalogue's device, with what the row says of its memory and power instead of the maker's figures."""
    if found := re.search(r"([\d.]+) TB/s", text):
        device = replace(device, memory_bytes_per_second=float(found[1]) * 1e12)
    found = re.search(r"(\d+) W cap", text)
    if not found:
        return device
    usual = find_device(re.split(r"[-\s]", text)[0]).power_watts or float(found[1])
    share = min(1.0, float(found[1]) / usual)  # under a cap the clock follows the power
    capped = {each: rate * share for each, rate in device.flops_per_second.items()}
    return replace(device, power_watts=float(found[1]), flops_per_second=capped)
