"""Your own device and model: `flyball plan run.yaml --models-file own.py`, or run this file with Python."""

from collections.abc import Mapping
from typing import Any

from flyball import plan, register_hardware, register_model

register_hardware(
    "my_custom_gpu",
    {
        "type": "gpu",
        "peak_flops": 50e12,  # FLOP/s in fp32
        "peak_flops_fp16": 100e12,
        "mem_gb": 64,  # of the host
        "vram_gb": 24,  # of the device
        "bandwidth_gbps": 900,  # GB/s of the device's memory
        "cost_per_hour": 2.00,  # US dollars
    },
)


@register_model("my_custom_model")
def my_custom_model(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    """Factorise a matrix by alternating projections."""
    weights = (spec["n"] + spec["d"]) * spec["k"]
    return {
        "params": weights,
        "train_flops": 6 * spec["n"] * spec["d"] * spec["k"] * spec["epochs"],
        "infer_flops_per_sample": 2 * spec["d"] * spec["k"],
        "complexity_class": "O(epochs·n·d·k)",
        "algorithm": "alternating projections",
    }


if __name__ == "__main__":
    made = plan(
        model={"name": "my_custom_model", "spec": {"n": 1_000_000, "d": 512, "k": 64, "epochs": 30}},
        hardware="my_custom_gpu",
    )
    print(made.computation.estimated_train_time_human, made.memory.verdict)
