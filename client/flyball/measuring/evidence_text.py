"""The evidence file of `flyball audit --evidence`, as YAML."""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from flyball.measuring.measurement import Measured

_MEANINGS = {
    "data_wait_ratio": "share of the steps in which the training waited for its input",
    "service_wait_ratio": "share in which it waited for services",
    "optimizer_ratio": "share in the optimizer",
    "checkpoint_ratio": "share in which it saved checkpoints",
    "evaluation_ratio": "share in evaluation",
    "communication_ratio": "share in exchanges that did not overlap with computing",
    "gpu_busy_ratio": "share in which a kernel ran",
    "gpu_memory_used_ratio": "share of the GPU's memory that the allocator has held at its peak",
    "host_bound_ratio": "share in which the GPU waited for the host",
    "transfer_wait_ratio": "share in which the GPU only copied",
    "host_memory_growth_bytes_per_step": "steady growth of resident memory",
    "gpu_memory_growth_bytes_per_step": "steady growth of allocated GPU memory",
}


def evidence_yaml(measured: Measured) -> str:
    """Return the text of the file. What the audit does not use, such as the calls of services, is in comments."""
    lines = [
        f"# Measured in {measured.steps} steps by `flyball run --measure`, for `flyball audit --evidence`.",
        f"measured_on: {json.dumps(measured.measured_on, ensure_ascii=False)}",
        "facts:" if measured.facts else "facts: {}",
    ]
    for name, value in sorted(measured.facts.items()):
        entry = f"  {name}: {value:.4g}"
        lines.append(f"{entry:44}  # {_MEANINGS[name]}")
    if measured.waits is not None:
        lines.append("synchronising_calls:  # a step" if measured.waits else "synchronising_calls: {}  # none")
        lines += [f"  {json.dumps(place)}: {count:.4g}" for place, count in measured.waits.items()]
    lines += [f"# {_line(note)}" for note in measured.notes]
    return "\n".join(lines) + "\n"


def _line(text: str) -> str:
    """Return printable text without line breaks: names of services come from outside."""
    return "".join(character if character.isprintable() else " " for character in text)
