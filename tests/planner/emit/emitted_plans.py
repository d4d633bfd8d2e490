"""Plans of many kinds, to emit: one device, replicas, every stage of sharding, offloading, and all parallelism."""

from flyball_planner.catalogue.machines import machine
from flyball_planner.configurations.bounds import CONSERVATIVE
from flyball_planner.configurations.configure import configure
from flyball_planner.emit.emitted_run import EmittedRun
from flyball_planner.emit.run_sources import run_of_configuration, run_of_plan
from flyball_planner.plan.make import make_plan
from flyball_planner.specification.reader import read_specification

GPT = "model: gpt2\ntraining: {{batch_size: {batch}, sequence: 1024, steps: 2000, precision: {precision}, {more}}}\n"
PLANS = {
    "alone": GPT.format(batch=32, precision="bf16-autocast", more="optimizer: adamw-fused")
    + "hardware: {device: RTX_4090_fp16, devices: 1}\n"
    + "layout: {micro_batch: 4, checkpointing: full}\n"
    + "loading: {bytes_per_sample: 2k, storage: nvme, workers: 4}\n",
    "replicas": GPT.format(batch=64, precision="bf16", more="compiled: true")
    + "hardware: {device: A100_80GB_fp16, devices: 4}\nlayout: {micro_batch: 8, sharding: none}\n",
    "zero1": GPT.format(batch=64, precision="bf16", more="optimizer: adamw")
    + "hardware: {device: A100_80GB_fp16, devices: 8}\nlayout: {micro_batch: 4, sharding: zero1}\n",
    "zero2": GPT.format(batch=64, precision="fp16", more="optimizer: adamw")
    + "hardware: {device: A100_80GB_fp16, devices: 8}\n"
    + "layout: {micro_batch: 2, sharding: zero2, checkpointing: selective}\n",
    "zero3": GPT.format(batch=64, precision="bf16", more="optimizer: adamw")
    + "hardware: {device: H100_80GB_fp16, devices: 16}\n"
    + "layout: {micro_batch: 4, sharding: zero3, checkpointing: full}\n",
    "offloaded-weights": GPT.format(batch=16, precision="bf16", more="optimizer: adamw")
    + "hardware: {device: RTX_4090_fp16, devices: 2}\nlayout: {micro_batch: 2, sharding: zero3, offload: parameters}\n",
    "offloaded-states": GPT.format(batch=16, precision="bf16", more="optimizer: adamw")
    + "hardware: {device: RTX_4090_fp16, devices: 2}\nlayout: {micro_batch: 2, sharding: zero2, offload: optimizer}\n",
    "tensor": GPT.format(batch=16, precision="bf16", more="optimizer: adamw")
    + "hardware: {device: A100_80GB_fp16, devices: 8}\nlayout: {micro_batch: 4, tensor: 4, sharding: zero3}\n",
    "tensor-zero1": GPT.format(batch=32, precision="bf16", more="optimizer: adamw")
    + "hardware: {device: A100_80GB_fp16, devices: 16}\nlayout: {micro_batch: 2, tensor: 2, sharding: zero1}\n",
    "context": GPT.format(batch=16, precision="bf16", more="optimizer: adamw")
    + "hardware: {device: A100_80GB_fp16, devices: 8}\nlayout: {micro_batch: 2, context: 2, sharding: zero3}\n",
    "pipeline": GPT.format(batch=32, precision="bf16", more="optimizer: adamw")
    + "hardware: {device: A100_80GB_fp16, devices: 8}\nlayout: {micro_batch: 2, pipeline: 4, tensor: 2}\n",
    "processor": GPT.format(batch=8, precision="fp32", more="optimizer: sgd-momentum")
    + "hardware: {device: CPU_8C_3.5Ghz_baseline, devices: 1}\nlayout: {micro_batch: 2}\n",
    "images": "model: {name: resnet50}\n"
    "training: {batch_size: 256, steps: 100, optimizer: sgd-momentum, precision: fp16}\n"
    "hardware: {device: A100_80GB_fp16, devices: 2}\nlayout: {micro_batch: 64}\n",
    "shape": "model: {name: mine, shape: {layers: 8, hidden: 512, heads: 8, kv_heads: 4, ffn: 1408, vocab: 32000, "
    "gated: true, tied: false, norm: rms, qkv_bias: false, attention_output_bias: false, ffn_bias: false}}\n"
    "training: {batch_size: 16, sequence: 1024, steps: 50, precision: bf16}\n"
    "hardware: {device: RTX_4090_fp16, devices: 1}\nlayout: {micro_batch: 4}\n",
    "llama": "model: llama-3.1-8b\ntraining: {batch_size: 64, sequence: 8192, steps: 1000, precision: bf16}\n"
    "hardware: {device: H100_80GB_fp16, devices: 64}\n"
    "layout: {micro_batch: 1, sharding: zero3, checkpointing: selective}\n",
}


def run_configured() -> EmittedRun:
    """Return what is emitted of a configuration for a workstation."""
    (found,) = configure(machine("RTX_4090_fp16"), [CONSERVATIVE])
    return run_of_configuration(found, read_specification(found.specification))


def run_named(name: str) -> EmittedRun:
    """Return what is emitted of one of these plans."""
    specification = read_specification(f"title: {name}\n{PLANS[name]}")
    return run_of_plan(specification, make_plan(specification))
