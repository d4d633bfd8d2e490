"""What libraries' functions, methods and names mean for the flow of values."""

import re
from functools import lru_cache

from flyball_audit.flow.values import MODEL, NORM, ON_HOST, UNKNOWN, Tag, Value
from flyball_audit.names import NAMES_KEPT

TO_HOST = frozenset({"item", "tolist", "numpy", "__float__", "__int__", "__bool__"})
"""Methods of a tensor that give Python or NumPy values: each waits for the device."""

METADATA = frozenset({
    "shape", "size", "dtype", "device", "ndim", "dim", "ndimension", "numel", "nelement", "is_cuda",
    "requires_grad", "element_size", "stride", "is_floating_point", "is_contiguous", "is_complex", "names",
    "grad_fn", "get_device", "data_ptr", "storage_offset", "is_leaf", "is_sparse", "layout", "itemsize",
    "nbytes", "is_pinned", "is_shared", "_version", "is_quantized", "is_meta", "is_signed", "is_inference",
    "retains_grad", "output_nr", "__class__", "is_cpu", "is_mps", "is_xpu", "is_hpu", "is_nested", "is_conj", "is_neg",
    "number_of_nodes", "number_of_edges", "batch_size", "num_graphs", "num_nodes", "num_edges",
})  # fmt: skip
"""Of a tensor, or of a graph that comes where tensors do: known on the host without waiting."""

NAMES_OF_PARTS = frozenset({"names", "layout"})
"""… though what a model gives may be an object that calls a part of it so."""

TEXTS = re.compile(
    r"(^|_)(names?|texts?|paths?|file_?names?|files|captions?|sentences?|urls?|uids?|guids?|metadata)$|^s?ids?$"
)
"""What parts of a batch are called that are no tensors, though the batch is moved to a device with them."""

COUNTS = re.compile(r"(^|_)(counts?|size)$|^(num|n)_")
"""What numbers are called that models give beside their tensors."""

KEYS = re.compile(r"(^|_)(k|keys?|names?)$")
"""What the keys of a dict are called where it is gone through."""

CREATION = frozenset({
    "tensor", "zeros", "ones", "full", "empty", "eye", "arange", "range", "linspace", "logspace", "rand",
    "randn", "randint", "randperm", "normal", "as_tensor", "from_numpy", "scalar_tensor", "FloatTensor",
    "LongTensor", "IntTensor", "DoubleTensor", "ByteTensor", "BoolTensor", "HalfTensor", "Tensor",
    "tril_indices", "triu_indices", "hann_window", "frombuffer",
})  # fmt: skip
"""Of `torch`: make a tensor in host memory, unless `device=` says otherwise."""

HOST_FUNCTIONS = frozenset({
    "is_tensor", "is_floating_point", "is_complex", "numel", "manual_seed", "seed", "initial_seed", "device",
    "equal", "allclose", "is_grad_enabled", "finfo", "iinfo", "get_default_dtype", "get_num_threads",
    "set_num_threads", "is_nonzero", "Size", "typename", "Generator", "dtype", "set_float32_matmul_precision",
    "is_inference_mode_enabled", "promote_types",
})  # fmt: skip
"""Of `torch`: give no tensor."""

HOST_PACKAGES = frozenset({
    "numpy", "math", "time", "os", "sys", "random", "json", "re", "statistics", "scipy", "sklearn", "pandas",
    "datetime", "logging", "argparse", "pathlib", "string", "matplotlib", "cv2", "PIL", "imageio", "skimage", "librosa",
    "soundfile",
})  # fmt: skip
"""Whose functions give host values, and wait for any tensor on a device that they are handed."""

TENSOR_PACKAGES = (
    "torch.", "torchvision.", "torchaudio.", "einops.", "kornia.", "torch_scatter.", "torch_geometric.",
    "flash_attn.", "xformers.", "fvcore.nn.", "pytorch3d.", "torch_sparse.", "lpips.", "piq.",
    "pytorch_msssim.", "geomloss.",
)  # fmt: skip
"""Whose functions give tensors where their arguments are."""

HOST_MODULES = (
    "torch.distributed.get_", "torch.distributed.is_", "torch.cuda.", "torch.backends.", "torch.version.",
    "torch.mps.", "torch.xpu.", "torch.multiprocessing.", "torch.random.", "torch.utils.tensorboard.",
    "torch.profiler.", "torch.set_", "torch.get_", "torch.save", "torch._dynamo.", "torch.utils.collect_env.",
    "torch.accelerator.",
)  # fmt: skip
"""Names of `torch` that give no tensors."""

MODULE_BASES = (
    "torch.nn.", "lightning.LightningModule", "lightning.pytorch.LightningModule",
    "transformers.PreTrainedModel", "transformers.", "torch_geometric.nn.", "torchvision.models.",
    "timm.models.", "diffusers.ModelMixin", "fairseq.models.", "mmengine.model.", "composer.models.",
    "huggingface_hub.PyTorchModelHubMixin",
)  # fmt: skip
"""Base classes whose children are modules (those of `transformers` by their name too)."""

NO_MODELS = re.compile(
    r"Tokenizer|Config|Processor|FeatureExtractor|Trainer|Arguments|Callback|Collator|Streamer|Output|Criteria"
    r"|Dataset"
)
"""Classes of `transformers` that are no models."""

MODEL_MAKERS = re.compile(
    r"^(torchvision\.models\.|timm\.create_model$|torch\.hub\.load$|peft\.|segmentation_models_pytorch\."
    r"|open_clip\.create_model"
    r"|torch_geometric\.nn\.|monai\.networks\.|efficientnet_pytorch\.|diffusers\.\w*(Model|UNet|Transformer|VAE"
    r"|AutoencoderKL)"
    r"|torch\.nn\.(?!functional\.|utils\.|init\.|parallel\.|Parameter$|Buffer$)[\w.]*\b[A-Z]\w*$)"
)
"""What gives a module when called."""

WRAPPERS = frozenset({
    "torch.compile", "torch.jit.script", "torch.jit.trace", "torch.nn.DataParallel",
    "torch.nn.parallel.DataParallel", "torch.nn.parallel.DistributedDataParallel",
    "torch.distributed.fsdp.FullyShardedDataParallel", "torch.distributed.fsdp.fully_shard",
    "torch.nn.SyncBatchNorm.convert_sync_batchnorm", "copy.deepcopy", "copy.copy",
    "apex.parallel.DistributedDataParallel", "fairscale.nn.FullyShardedDataParallel",
    "fairscale.nn.data_parallel.FullyShardedDataParallel", "torch.nn.utils.spectral_norm",
    "torch.nn.utils.weight_norm", "torch.nn.utils.parametrizations.weight_norm", "peft.get_peft_model",
    "peft.prepare_model_for_kbit_training", "torch.distributed.fsdp.wrap.wrap",
    "apex.parallel.convert_syncbn_model", "typing.cast", "torch.autograd.Variable",
})  # fmt: skip
"""Give back what they are handed, as far as values go."""

PASSING = frozenset({
    "tqdm.tqdm", "tqdm.trange", "rich.progress.track", "builtins.iter", "builtins.list", "builtins.tuple",
    "builtins.reversed", "builtins.sorted", "builtins.set", "itertools.islice", "itertools.cycle",
    "itertools.chain", "fastprogress.progress_bar", "fastprogress.fastprogress.progress_bar", "tqdm",
    "builtins.frozenset", "itertools.repeat", "builtins.filter", "torch.utils.data.Subset",
    "alive_progress.alive_it", "progressbar.progressbar", "builtins.dict", "collections.deque",
})  # fmt: skip
"""Iterating what they give is iterating what they are handed."""

HOST_BUILTINS = frozenset(
    f"builtins.{each}"
    for each in (
        "float", "int", "bool", "str", "repr", "len", "range", "isinstance", "hasattr", "type", "id", "hash",
        "print", "format", "open", "input", "ord", "chr", "hex", "callable", "issubclass", "any", "all",
        "complex", "bytes", "round",
    )
)  # fmt: skip

OPTIMIZERS = re.compile(
    r"^torch\.optim\.(?!lr_scheduler)(\w+\.)?[A-Z]\w*$"
    r"|(^|\.)(AdamW|Adam|SGD|Lion|Adafactor|LAMB|Lamb|FusedAdam|FusedLAMB|CPUAdam|DeepSpeedCPUAdam|AdamW8bit"
    r"|Adam8bit|PagedAdamW8bit"
    r"|RAdam|Ranger|MADGRAD|AdaBelief|Muon|Sophia\w*|Shampoo|ZeroRedundancyOptimizer|RMSprop|Adagrad|AdaFactor"
    r"|Prodigy|LARS)$"
)
SCHEDULERS = re.compile(
    r"^torch\.optim\.lr_scheduler\.[A-Z]|^transformers\.get_\w*schedul"
    r"|^transformers\.optimization\.get_\w*schedul|^timm\.scheduler\."
)
SCALERS = re.compile(r"(^|\.)(GradScaler|ShardedGradScaler)$")
LOADERS = re.compile(
    r"(^|\.)(\w*DataLoader|\w*DataloaderIterator|create_loader|StatefulDataLoader|NeighborLoader"
    r"|MultiEpochsDataLoader)$"
)
TRAINERS = re.compile(
    r"^(lightning\.Trainer|transformers\.\w*Trainer|trl\.\w*Trainer|setfit\.\w*Trainer"
    r"|sentence_transformers\.\w*Trainer)$"
)
LOSSES = re.compile(
    r"^torch\.nn\.functional\.(\w*loss\w*|\w*cross_entropy\w*|kl_div)$|^torchvision\.ops\.(sigmoid_focal_loss"
    r"|\w*iou_loss)$"
)
CRITERIA = re.compile(r"(^|\.)\w*(Loss|Criterion|CrossEntropy)\w*$")
CLIPPING = re.compile(r"(^|\.)clip_grad_(norm|value)_?$|(^|\.)clip_grads_with_norm_$")
NORMS = re.compile(r"(^|\.)get_total_norm$")
"""Take the norm of gradients, and leave them as they are."""

DATASETS = re.compile(
    r"^torch\.utils\.data\.(TensorDataset|ConcatDataset|ChainDataset|StackDataset)$|^torch(vision|audio)\.datasets\."
    r"|^datasets\.(load_dataset|load_from_disk|Dataset\.from_\w+)$|^torch_geometric\.datasets\."
)


@lru_cache(NAMES_KEPT)
def made(qualified: str) -> Value | None:
    """What a call of a library's class or function makes, if that is known by its name alone."""
    for pattern, tag in _BY_NAME:
        if pattern.search(qualified):
            return Value(frozenset({tag}))
    if qualified in {"accelerate.Accelerator", "accelerate.accelerator.Accelerator", "lightning.Fabric"}:
        return Value(frozenset({Tag.ACCELERATOR}))
    if qualified == "deepspeed.initialize":
        parts = ({Tag.MODEL, Tag.ENGINE}, {Tag.OPTIMIZER}, {Tag.LOADER}, {Tag.SCHEDULER})
        return Value(items=tuple(Value(frozenset(each)) for each in parts))
    if CLIPPING.search(qualified) or NORMS.search(qualified):
        return NORM
    if qualified.startswith(("torch.nn.", "monai.losses.", "pytorch_metric_learning.")) and CRITERIA.search(qualified):
        return Value(frozenset({Tag.CRITERION, Tag.MODEL}))
    if MODEL_MAKERS.search(qualified) or _is_pretrained(qualified):
        return MODEL
    return None


_BY_NAME = (
    (OPTIMIZERS, Tag.OPTIMIZER),
    (SCHEDULERS, Tag.SCHEDULER),
    (SCALERS, Tag.SCALER),
    (LOADERS, Tag.LOADER),
    (TRAINERS, Tag.TRAINER),
    (DATASETS, Tag.DATASET),
)


def _is_pretrained(qualified: str) -> bool:
    """`transformers.AutoModel.from_pretrained` and its like."""
    root, _, rest = qualified.partition(".")
    if root not in {"transformers", "diffusers", "sentence_transformers", "peft"}:
        return False
    made_so = rest.endswith((".from_pretrained", ".from_config", "Model", "Classification", "LMHeadModel"))
    return made_so and not NO_MODELS.search(rest)


_TRANSFORMERS = ("transformers.", "pytorch_transformers.", "pytorch_pretrained_bert.", "adapters.")
"""… and what it was called before."""


@lru_cache(NAMES_KEPT)
def is_module_base(qualified: str) -> bool:
    """Whether classes that derive from this one are modules."""
    if qualified.startswith(_TRANSFORMERS):
        return not NO_MODELS.search(qualified) and qualified.endswith(
            ("Model", "PreTrainedModel", "LM", "Classification", "Mixin", "QuestionAnswering", "Generation", "LMHead")
        )
    return qualified.startswith(MODULE_BASES)


_GUESSES = (
    (
        re.compile(
            r"^(model|net|network|backbone|generator|discriminator|net[GD]|ema_model|raw_model|ddp_model"
            r"|student|teacher)$"
        ),
        MODEL,
    ),
    (re.compile(r"^(criterion|loss_fn|loss_func|loss_function|crit)$"), Value(frozenset({Tag.CRITERION}))),
    (re.compile(r"^(optimizer|optim|optimiser)(_\w{1,12})?$"), Value(frozenset({Tag.OPTIMIZER}))),
    (
        re.compile(r"^(\w+_)?(loader|dataloader|data_loader)(_\w{1,12})?$|^(\w+_)?(train|val|test|eval)_dl$|^dl$"),
        Value(frozenset({Tag.LOADER})),
    ),
    (re.compile(r"^(\w+_)?(loaders|dataloaders|data_loaders)$"), Value(element=Value(frozenset({Tag.LOADER})))),
    (re.compile(r"^(grad_)?scaler$"), Value(frozenset({Tag.SCALER}))),
    (re.compile(r"^(lr_)?scheduler$"), Value(frozenset({Tag.SCHEDULER}))),
    (re.compile(r"^(accelerator|fabric)$"), Value(frozenset({Tag.ACCELERATOR}))),
    (re.compile(r"^(model_)?engine$"), Value(frozenset({Tag.MODEL}))),
)
"""Names that mean one thing in nearly every training script: used only for values of which nothing is known."""


@lru_cache(NAMES_KEPT)
def guess(name: str) -> Value:
    """What a variable of that name holds, by convention."""
    for pattern, value in _GUESSES:
        if pattern.match(name):
            return value
    return UNKNOWN


_ANNOTATIONS = (
    (re.compile(r"^torch\.(Tensor|FloatTensor|LongTensor)$"), Value(frozenset({Tag.TENSOR}))),
    (re.compile(r"^torch\.nn\.|PreTrainedModel$|LightningModule$"), MODEL),
    (re.compile(r"^builtins\.(int|float|str|bool|bytes)$|^numpy\."), ON_HOST),
    (OPTIMIZERS, Value(frozenset({Tag.OPTIMIZER}))),
    (LOADERS, Value(frozenset({Tag.LOADER}))),
    (SCALERS, Value(frozenset({Tag.SCALER}))),
    (SCHEDULERS, Value(frozenset({Tag.SCHEDULER}))),
    (re.compile(r"^(accelerate\.Accelerator|lightning\.Fabric)$"), Value(frozenset({Tag.ACCELERATOR}))),
)


@lru_cache(NAMES_KEPT)
def annotated(qualified: str) -> Value:
    """What an argument of that annotation holds."""
    for pattern, value in _ANNOTATIONS:
        if pattern.search(qualified):
            return value
    return UNKNOWN


REGISTERING = frozenset({
    "register_hook", "register_forward_hook", "register_forward_pre_hook", "register_full_backward_hook",
    "register_backward_hook", "register_post_accumulate_grad_hook",
})  # fmt: skip
"""Methods of tensors and modules that take a hook, and give what takes it off again."""
