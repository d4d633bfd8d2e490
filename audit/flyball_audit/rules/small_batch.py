"""`small-batch`: training in batches of a few samples, which leave most of the device idle."""

import ast
from collections.abc import Iterator

from flyball_audit.finding import Gain, Severity, Time
from flyball_audit.loaders import Loader, keyword, loaders, loops_over, named_for, trainer_settings
from flyball_audit.names import is_top_level
from flyball_audit.project import Module, Project
from flyball_audit.rule import SUSPECTED, Match, Rule
from flyball_audit.walks import EVALUATION

SMALL = 4
"""Samples up to which a batch is small for any device; larger ones may be, but only a measurement tells."""

SMALL_FOR_A_TRAINER = 2
"""With the Trainer, large models are common, which memory holds to a few samples."""


def look(module: Module, project: Project) -> Iterator[Match]:
    """Small constant batch sizes of what training loops run over."""
    for loader in loaders(module, project):
        size = loader.argument("batch_size")
        value = loader.constant("batch_size")
        if size is not None and _is_small(value, SMALL) and _trains(project, loader) and not _is_collated(loader):
            yield _match(_literal(module, size), value)
        if size is None and _takes_one(loader) and _trains(project, loader):
            yield _match(loader.call, 1)
    for call in trainer_settings(module, project):
        given = keyword(call, "per_device_train_batch_size")
        literal = project.flow.value(module, given.value).literal if given is not None else None
        if given is not None and literal is not None and _is_small(literal.value, SMALL_FOR_A_TRAINER):
            yield _match(given.value, literal.value)


def _is_small(value: object, largest: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value <= largest


def _is_collated(loader: Loader) -> bool:
    """A single item that its own function makes a batch of: a bag, a slide, packed texts."""
    return loader.constant("batch_size") == 1 and loader.argument("collate_fn") is not None


def _takes_one(loader: Loader) -> bool:
    """Whether nothing says how large batches are, in which case each is of one sample."""
    others = ("batch_sampler", "sampler", "collate_fn")
    return loader.misses("batch_size") and all(loader.misses(each) for each in others)


def _trains(project: Project, loader: Loader) -> bool:
    """Whether a training loop runs over it; if nobody does, by its name."""
    over = loops_over(project, loader)
    if over:
        training = {each.node for each in project.loops.training}
        return any(node in training for _, node in over)
    name = named_for(loader)
    shuffled = loader.constant("shuffle") is True
    return not EVALUATION.search(name) and (shuffled or "train" in name.lower())


def _literal(module: Module, size: ast.expr) -> ast.expr:
    """The number itself, where a constant of the module holds it."""
    if isinstance(size, ast.Name):
        for each in module.all(ast.Assign):
            named = any(isinstance(target, ast.Name) and target.id == size.id for target in each.targets)
            if named and isinstance(each.value, ast.Constant) and is_top_level(module, each):
                return each.value
    return size


def _match(node: ast.expr, value: object) -> Match:
    return Match(
        node,
        f"the training uses batches of {value}",
        "kernels for so few samples take microseconds, less than their launch, so the device is idle between them",
        SUSPECTED,
    )


RULE = Rule(
    id="small-batch",
    severity=Severity.NOTE,
    summary="Training uses very small batches.",
    cause="The device computes a few samples and then waits for the host to launch the next kernels.",
    change="Increase the batch size until memory or throughput stops growing. Reduce the accumulation, or scale the "
    "learning rate, to match.",
    expected="up to 2× if kernels run half of the time, by our estimate: launches cost the same for a larger batch; "
    "no published figure fits all models",
    source="arithmetic: 1 ÷ the share of the time in which kernels run",
    before="DataLoader(dataset, batch_size=1)",
    after="DataLoader(dataset, batch_size=args.batch_size)",
    look=look,
    gain=Gain(Time.HOST, 2.0),
)
