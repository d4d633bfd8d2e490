"""`cudnn-benchmark-unset`: convolutions of fixed shapes run with whatever algorithm cuDNN guesses."""

import ast
import re
from collections.abc import Iterator

from flyball_audit.finding import Gain, Severity, Time
from flyball_audit.mentions import DEVICE, mentions, quick
from flyball_audit.project import Module, Project
from flyball_audit.rule import SUSPECTED, Match, Rule

CONVOLUTIONS = quick(
    r"\bConv[123]d\(|\bLazyConv[123]d\(|torchvision\.models\.(?!detection|segmentation|vit|swin)|\bmodels\.(resnet|vgg|densenet|mobilenet"
    r"|efficientnet|alexnet|inception|googlenet|squeezenet|regnet|convnext|wide_resnet|resnext|shufflenet|mnasnet)\w*\(|timm\.create_model"
)

DECIDED = re.compile(
    r"cudnn\.benchmark|cudnn\.deterministic|use_deterministic_algorithms|benchmark\s*=|cudnn_benchmark|deterministic\s*=\s*True"
)
"""Someone has thought of it, one way or the other."""

VARIABLE = re.compile(
    r"models\.detection|fasterrcnn|maskrcnn|retinanet|yolo|pad_sequence|pack_padded|bucket", re.IGNORECASE
)
"""Signs of shapes that change from batch to batch: the search would run again for each."""


def look(module: Module, project: Project) -> Iterator[Match]:
    """The first training loop of files that convolve on a GPU and say nothing of cuDNN's search."""
    loops = [
        each for each in project.loops.training_of(module) if each.hook_of is None and isinstance(each.node, ast.For)
    ]
    if not loops or not mentions(project, module, CONVOLUTIONS) or not mentions(project, module, DEVICE):
        return
    if mentions(project, module, DECIDED) or mentions(project, module, VARIABLE):
        return
    for turns in loops[:1]:
        if isinstance(turns.node, ast.For):
            yield Match(
                turns.node,
                "convolutions are trained here without `cudnn.benchmark`",
                "these files use convolutions and a GPU, and show no sign of changing shapes",
                SUSPECTED,
            )


RULE = Rule(
    id="cudnn-benchmark-unset",
    severity=Severity.NOTE,
    summary="cuDNN does not search for the fastest convolution algorithms.",
    cause="Without the search cuDNN chooses an algorithm by a heuristic. If shapes stay the same, one search at the "
    "start pays off.",
    change="Set `torch.backends.cudnn.benchmark = True` before the loop if the shapes of batches stay the same "
    "(`drop_last=True`).",
    expected="up to 1.4× for convolutional networks (2.00 to 1.42 s a step; 17 to 12 min an epoch on a V100), "
    "nothing if cuDNN's choice was already good",
    source="https://github.com/NVIDIA/waveglow/issues/172, https://github.com/speechbrain/speechbrain/pull/294; "
    "PyTorch's tuning guide, “Enable cuDNN auto-tuner”: "
    "https://pytorch.org/tutorials/recipes/recipes/tuning_guide.html",
    before="model = resnet50().cuda()",
    after="torch.backends.cudnn.benchmark = True\nmodel = resnet50().cuda()",
    look=look,
    gain=Gain(Time.COMPUTE, 1.4),
)
