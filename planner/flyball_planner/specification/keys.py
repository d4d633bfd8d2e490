"""The keys of a specification, section by section: what each expects and what it means. The reference in the documents
and every message follow from this list."""

from collections.abc import Sequence

from flyball_planner.catalogue.prices import PROVIDERS
from flyball_planner.configurations.streaming import Disk
from flyball_planner.precision import PRECISIONS
from flyball_planner.training import Attention, Checkpointing, Method, Offload, Sharding
from flyball_reports.specification.sections import Key
from flyball_reports.specification.value_readers import (
    anything,
    choice,
    flag,
    many,
    member,
    number,
    text,
    whole,
)

MOST_DEVICES = 1_000_000

FILE = (
    Key("title", text(), "what the report is called"),
    Key("model", anything(), "what is trained", required=True),
    Key("training", anything(), "how it is trained"),
    Key("hardware", anything(), "what it runs on", required=True),
    Key("layout", anything(), "how it is spread over devices; left out, the fastest that fits is searched"),
    Key("scalability", anything(), "other numbers of devices and other batches to compare"),
    Key("loading", anything(), "how the data reach the devices; left out, they are never waited for"),
    Key("calibration", anything(), "measured runs that narrow the estimates: a file, or a list of runs"),
    Key("cost", anything(), "at which price"),
    Key("report", anything(), "how the plan is written where the command line does not say"),
)

MODEL = (
    Key("name", text(), "a model that Flyball knows: see flyball models --list"),
    Key("huggingface", anything(), "a config.json, as a path beside this file or as keys"),
    Key("shape", anything(), "the dimensions of a transformer of your own"),
)
"""What says which model; all other keys of the section are that model's own."""

TRAINING = (
    Key("batch_size", whole(), "samples an optimizer step, over all devices"),
    Key("sequence", whole(at_most=1e8), "tokens of a sample"),
    Key("epochs", number(above=0), "passes over the samples"),
    Key("samples", whole(), "samples of one epoch"),
    Key("tokens", number(above=0), "tokens in all; 26B is 26 billion"),
    Key("steps", whole(), "optimizer steps in all"),
    Key("optimizer", text(), "what updates the weights"),
    Key("precision", choice(PRECISIONS), "which formats are multiplied in and kept"),
    Key("method", member(Method), "which weights are trained"),
    Key("lora_rank", whole(at_most=65536), "of LoRA and QLoRA"),
    Key("lora_targets", many(choice(("q", "k", "v", "o", "gate", "up", "down"))), "the matrices that LoRA adds to"),
    Key("attention", member(Attention), "whether scores lie in memory"),
    Key("compiled", flag(), "torch.compile fuses elementwise operators"),
    Key("framework", choice(("pytorch", "megatron", "deepspeed")), "they keep gradients and buffers differently"),
    Key("fp32_gradients", flag(), "gradients are accumulated in fp32"),
    Key("fused_loss", flag(), "logits never stand whole"),
)

HARDWARE = (
    Key("device", text(), "an accelerator or processor: see flyball hardware --list"),
    Key("devices", whole(at_most=MOST_DEVICES), "how many"),
    Key("devices_per_node", whole(at_most=4096), "of them, in one machine"),
    Key("network", text(), "between machines, as in 400 Gbit/s InfiniBand"),
    Key("host_memory_gb", number(above=0), "of one machine"),
    Key("host_cores", whole(at_most=65536), "of one machine"),
)

LAYOUT = (
    Key("tensor", whole(at_most=4096), "devices that share each matrix"),
    Key("pipeline", whole(at_most=4096), "stages that layers are divided into"),
    Key("interleave", whole(at_most=1024), "model chunks a pipeline stage"),
    Key("context", whole(at_most=4096), "devices that share a sequence"),
    Key("expert", whole(at_most=4096), "devices that share the experts"),
    Key("micro_batch", whole(), "samples that a device takes at once"),
    Key("sharding", member(Sharding), "what data-parallel ranks divide among themselves"),
    Key("shard_group", whole(at_least=0, at_most=MOST_DEVICES), "ranks that divide; 0: all"),
    Key("sequence_parallel", flag(), "norms and dropout are shared as tensors are"),
    Key("checkpointing", member(Checkpointing), "activations that are computed again"),
    Key("offload", member(Offload), "what lies in the host's memory"),
)

LOADING = (
    Key("samples_per_second", number(above=0), "what the loader of one node was measured to deliver"),
    Key("bytes_per_sample", number(above=0), "as it lies in the storage; 110k is 110,000"),
    Key("storage", choice(Disk), "the kind of disk of one node, where its bandwidth is not known"),
    Key("storage_mb_per_second", number(above=0), "what one node reads from its storage, in 10⁶ bytes a second"),
    Key("cpu_ms_per_sample", number(above=0), "of one core, to decode and transform a sample"),
    Key("workers", whole(at_least=0, at_most=4096), "loading processes a device; 0: the training process loads itself"),
)

MEASURED = (
    Key("step_seconds", number(above=0), "of an optimizer step, without the first ones"),
    Key("samples_per_second", number(above=0), "of all devices, in place of step_seconds"),
    Key("tokens_per_second", number(above=0), "of all devices, in place of step_seconds"),
    Key("allocated_bytes", number(above=0), "peak of the fullest device: torch.cuda.max_memory_allocated()"),
    Key("reserved_bytes", number(above=0), "the same: torch.cuda.max_memory_reserved()"),
    Key("driver_bytes", number(above=0), "the same, as nvidia-smi shows it"),
)
"""What a run was measured to take; at least one of them."""

SCALABILITY = (
    Key("devices", many(whole(at_most=MOST_DEVICES)), "numbers of devices to compare"),
    Key("batch_sizes", many(whole()), "batches to compare"),
)

COST = (
    Key("usd_per_device_hour", number(at_least=0, at_most=1e6), "your own price; left out, the cheapest known offer"),
    Key("provider", choice(PROVIDERS), "only this provider's offers"),
    Key("region", text(), "only offers of this region"),
    Key("spot", flag(), "at spot prices, where there are any"),
)

REPORT = (
    Key("format", choice(("markdown", "json", "html")), "of the report"),
    Key("output", text(), "the file that it is written to"),
    Key("verbose", flag(), "nothing is left out"),
)

SECTIONS: dict[str, Sequence[Key]] = {
    "model": MODEL,
    "training": TRAINING,
    "hardware": HARDWARE,
    "layout": LAYOUT,
    "loading": LOADING,
    "scalability": SCALABILITY,
    "cost": COST,
    "report": REPORT,
}
