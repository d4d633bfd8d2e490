"""The keys of a specification by section, with expected values and meaning. The documents and all messages use them."""

from collections.abc import Sequence

from flyball_planner.catalogue.prices import PROVIDERS
from flyball_planner.configurations.streaming import Disk
from flyball_planner.models.transformer.lora import OTHER_NAMES, TARGETS
from flyball_planner.precision import PRECISIONS
from flyball_planner.quantisation import QUANTISATIONS
from flyball_planner.training import Attention, Checkpointing, Method, Offload, Sharding
from flyball_reports.specification.sections import SectionKey
from flyball_reports.specification.value_readers import (
    anything,
    choice,
    flag,
    gigabytes,
    integer,
    many,
    member,
    number,
    text,
)

MOST_DEVICES = 1_000_000

FILE = (
    SectionKey("title", text(), "title of the report"),
    SectionKey("model", anything(), "the model", required=True),
    SectionKey("training", anything(), "batch, length, optimizer, precision"),
    SectionKey("hardware", anything(), "the devices and machines", required=True),
    SectionKey(
        "layout", anything(), "how the training is distributed over devices; default: the fastest layout that fits"
    ),
    SectionKey("scalability", anything(), "other numbers of devices and other batch sizes to compare"),
    SectionKey("loading", anything(), "data loading; default: no step waits for data"),
    SectionKey("inference", anything(), "how the trained model is used; default: contexts as long as in the training"),
    SectionKey("calibration", anything(), "measured runs that correct the estimates: a file or a list of runs"),
    SectionKey("cost", anything(), "the price of the run"),
    SectionKey("report", anything(), "defaults for the command line's output options"),
)

MODEL = (
    SectionKey("name", text(), "a known model; see `flyball models`"),
    SectionKey("huggingface", anything(), "a config.json: its path relative to this file, or its keys"),
    SectionKey("shape", anything(), "the dimensions of your own transformer"),
)
"""The keys that select a model; all other keys of the section belong to that model."""

TRAINING = (
    SectionKey("batch_size", integer(), "samples per optimizer step over all devices"),
    SectionKey("sequence", integer(at_most=1e8), "tokens per sample"),
    SectionKey("epochs", number(above=0, at_most=1e9), "passes over the data"),
    SectionKey("samples", integer(), "samples per epoch"),
    SectionKey("tokens", number(above=0), "tokens in total; 26B is 26 billion"),
    SectionKey("steps", integer(), "optimizer steps in total"),
    SectionKey("optimizer", text(), "the optimizer, in any spelling"),
    SectionKey("momentum", number(at_least=0, at_most=1), "momentum of sgd"),
    SectionKey(
        "learning_rate", number(above=0, at_most=100), "the highest learning rate; default: recommended by size"
    ),
    SectionKey(
        "accumulation",
        integer(at_most=1e6),
        "micro-batches per optimizer step; replaces batch_size beside a micro-batch",
    ),
    SectionKey("precision", choice(PRECISIONS), "number formats of the arithmetic and of what is stored"),
    SectionKey("method", member(Method), "the weights that are trained"),
    SectionKey("lora_rank", integer(at_most=65536), "rank of LoRA, QLoRA and DoRA"),
    SectionKey(
        "lora_targets",
        many(choice((*TARGETS, "all-linear", *OTHER_NAMES, "all"))),
        "the matrices that LoRA applies to",
    ),
    SectionKey("virtual_tokens", integer(at_most=1e5), "trained tokens of prefix and prompt tuning"),
    SectionKey("bottleneck_width", integer(at_most=65536), "width of bottleneck adapters"),
    SectionKey("quantization", choice(("none", *QUANTISATIONS)), "how frozen weights are stored; QLoRA: nf4"),
    SectionKey("double_quantization", flag(), "false if the scales of 4-bit weights are in fp32 (nf4-plain)"),
    SectionKey("quantized_output", flag(), "true if the output layer is quantised too"),
    SectionKey("fp32_rest", flag(), "true if all that is not quantised is in fp32 (prepare_model_for_kbit_training)"),
    SectionKey("load_in_4bit", flag(), "Hugging Face's name for quantization: fp4 or nf4"),
    SectionKey("load_in_8bit", flag(), "Hugging Face's name for quantization: int8"),
    SectionKey("bnb_4bit_quant_type", choice(("nf4", "fp4")), "Hugging Face's name for the 4-bit format"),
    SectionKey("bnb_4bit_use_double_quant", flag(), "Hugging Face's name for double_quantization"),
    SectionKey(
        "bnb_4bit_compute_dtype",
        choice(("bfloat16", "float16", "float32", "torch.bfloat16", "torch.float16", "torch.float32")),
        "format in which 4-bit weights are multiplied; it does not change the memory",
    ),
    SectionKey("attention", member(Attention), "flash attention, or scores that are written to memory"),
    SectionKey("compiled", flag(), "true if torch.compile is used"),
    SectionKey(
        "framework",
        choice(("pytorch", "megatron", "deepspeed")),
        "the framework; each stores gradients and buffers differently",
    ),
    SectionKey("fp32_gradients", flag(), "true if gradients are accumulated in fp32"),
    SectionKey("fused_loss", flag(), "true if the loss is computed in chunks or fused, without storing all logits"),
    SectionKey(
        "evaluation_tokens",
        integer(at_least=0, at_most=1e9),
        "tokens per device that evaluations generate between steps, whose keys and values (KV cache) are stored",
    ),
)

HARDWARE = (
    SectionKey("device", text(), "an accelerator or processor; see `flyball hardware`"),
    SectionKey(
        "hardware_file", text(), "file with your own devices, beside this one; docs/hardware.md shows its format"
    ),
    SectionKey("memory_gb", gigabytes(), "memory of one device, where its name leaves it open"),
    SectionKey("devices", integer(at_most=MOST_DEVICES), "number of devices"),
    SectionKey("devices_per_node", integer(at_most=4096), "devices per machine"),
    SectionKey("nodes", integer(at_most=MOST_DEVICES), "number of machines, if devices is not given"),
    SectionKey(
        "efficiency",
        number(above=0, at_most=1),
        "share of the peak rate that matrix products reach; default: estimated by their sizes",
    ),
    SectionKey("network", text(), "network between machines, such as 400 Gbit/s InfiniBand"),
    SectionKey("host_memory_gb", gigabytes(), "memory of one machine"),
    SectionKey("host_cores", integer(at_most=65536), "processor cores of one machine"),
)

LAYOUT = (
    SectionKey("tensor", integer(at_most=4096), "devices that share each matrix (tensor parallelism)"),
    SectionKey("pipeline", integer(at_most=4096), "stages that the layers are divided into (pipeline parallelism)"),
    SectionKey("interleave", integer(at_most=1024), "model chunks per pipeline stage"),
    SectionKey("context", integer(at_most=4096), "devices that share a sequence (context parallelism)"),
    SectionKey("expert", integer(at_most=4096), "devices that share the experts (expert parallelism)"),
    SectionKey("data", integer(at_most=MOST_DEVICES), "copies of the model (data parallelism); it must match the rest"),
    SectionKey("micro_batch", integer(), "samples per device and forward pass"),
    SectionKey("sharding", member(Sharding), "states that are divided among data-parallel ranks"),
    SectionKey("shard_group", integer(at_least=0, at_most=MOST_DEVICES), "ranks that share the states; 0: all"),
    SectionKey("sequence_parallel", flag(), "true if norms and dropout are split like tensors"),
    SectionKey(
        "bidirectional",
        flag(),
        "true if micro-batches enter the pipeline from both ends (DualPipe); ranks hold two stages",
    ),
    SectionKey("checkpointing", member(Checkpointing), "activations that are recomputed"),
    SectionKey("offload", member(Offload), "data that are stored in the host's memory"),
)

INFERENCE = (
    SectionKey("batch_size", integer(at_most=1e6), "requests that are answered at the same time"),
    SectionKey("context", integer(at_most=1e8), "tokens of a request and its answer"),
)

LOADING = (
    SectionKey("samples_per_second", number(above=0), "measured rate of one node's loader"),
    SectionKey("bytes_per_sample", number(above=0), "size of a sample in the storage; 110k is 110,000"),
    SectionKey("storage", choice(Disk), "kind of a node's disk, if its bandwidth is unknown"),
    SectionKey("storage_mb_per_second", number(above=0), "read rate of a node's storage, in 10⁶ bytes per second"),
    SectionKey("cpu_ms_per_sample", number(above=0), "time of one core to decode and transform a sample"),
    SectionKey(
        "workers", integer(at_least=0, at_most=4096), "loading processes per device; 0: the training process loads"
    ),
)

MEASURED = (
    SectionKey("step_seconds", number(above=0), "time of an optimizer step, without the first steps"),
    SectionKey("samples_per_second", number(above=0), "rate of all devices, instead of step_seconds"),
    SectionKey("tokens_per_second", number(above=0), "rate of all devices, instead of step_seconds"),
    SectionKey("allocated_bytes", number(above=0), "peak on the fullest device: torch.cuda.max_memory_allocated()"),
    SectionKey("reserved_bytes", number(above=0), "the same: torch.cuda.max_memory_reserved()"),
    SectionKey("driver_bytes", number(above=0), "the same, as reported by nvidia-smi"),
)
"""Measured results of a run; at least one is required."""

SCALABILITY = (
    SectionKey("enabled", flag(), "false to compare nothing"),
    SectionKey("devices", many(integer(at_most=MOST_DEVICES)), "numbers of devices to compare"),
    SectionKey("batch_sizes", many(integer()), "batch sizes to compare"),
    SectionKey("data_parallel", flag(), "false to compare no numbers of devices without model parallelism"),
    SectionKey("model_parallel", flag(), "false to use no layout that divides the model"),
)

COST = (
    SectionKey(
        "usd_per_device_hour", number(at_least=0, at_most=1e6), "your own price; default: the cheapest known offer"
    ),
    SectionKey("provider", choice(PROVIDERS), "only this provider's offers"),
    SectionKey("region", text(), "only offers in this region"),
    SectionKey("spot", flag(), "true to use spot prices if there are any"),
)

REPORT = (
    SectionKey("format", choice(("markdown", "json", "html", "table")), "format of the report"),
    SectionKey("output", text(), "file to which the report is written"),
    SectionKey("verbose", flag(), "true to show everything"),
    SectionKey("plots", flag(), "false to leave out the charts of a page"),
    SectionKey("recommendations", flag(), "false to leave out the recommendations"),
)

CHOICES = "choices"
"""Not a section that users write: restrictions of the search for a layout that other sections state."""

SECTIONS: dict[str, Sequence[SectionKey]] = {
    "model": MODEL,
    "training": TRAINING,
    "hardware": HARDWARE,
    "layout": LAYOUT,
    "loading": LOADING,
    "inference": INFERENCE,
    "scalability": SCALABILITY,
    "cost": COST,
    "report": REPORT,
}
