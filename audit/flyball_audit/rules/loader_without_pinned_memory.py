"""`loader-without-pinned-memory`: batches are copied to the device from pageable memory, and not beside the work."""

import ast
from collections.abc import Iterator

from flyball_audit.built import is_built_for_training
from flyball_audit.finding import Gain, Severity, Time
from flyball_audit.flow.values import Literal
from flyball_audit.loaders import Loader, keyword, loaders, trainer_settings
from flyball_audit.mentions import is_for_a_device, stays_on_host
from flyball_audit.project import Module, Project
from flyball_audit.rule import LIKELY, SUSPECTED, Match, Rule
from flyball_audit.sample_costs import lies_on_device


def look(module: Module, project: Project) -> Iterator[Match]:
    """Loaders, in files that use a GPU, that do not pin their batches."""
    for loader in loaders(module, project):
        given = loader.argument("pin_memory")
        missing = loader.misses("pin_memory")
        refused = isinstance(given, ast.Constant) and given.value is False
        moves = loader.argument("device") is not None  # DGL's bring their batches over themselves
        if (
            (missing or refused)
            and not moves
            and not lies_on_device(project, loader)
            and _is_for_a_device(project, loader)
        ):
            yield _match(loader, missing=missing)
    for call in trainer_settings(module, project):
        setting = keyword(call, "dataloader_pin_memory")
        if setting is not None and project.flow.value(module, setting.value).literal == Literal(value=False):
            yield Match(
                setting, "`dataloader_pin_memory=False`", "the Trainer copies its batches from pageable memory", LIKELY
            )


def _is_for_a_device(project: Project, loader: Loader) -> bool:
    """Whether its batches go to a GPU, as files say, or are for a training elsewhere that nobody keeps on the host."""
    if is_for_a_device(project, loader.module):
        return True
    return not stays_on_host(loader.module) and is_built_for_training(project, loader)


def _match(loader: Loader, *, missing: bool) -> Match:
    return Match(
        loader.call,
        f"`{loader.module.quote(loader.call)}` has {'no `pin_memory`' if missing else '`pin_memory=False`'}",
        f"batches of {loader.dataset_words} are copied to a GPU from pageable memory, which takes two copies while "
        "the host waits",
        LIKELY if not missing else SUSPECTED,
        edit=loader.setting("pin_memory", "True"),
    )


RULE = Rule(
    id="loader-without-pinned-memory",
    severity=Severity.NOTE,
    summary="The batches of a DataLoader are not in pinned memory.",
    cause="CUDA first copies pageable memory to its own pinned buffer while the host waits. A loader that pins its "
    "batches does this in a thread during the steps.",
    change="Set `pin_memory=True` and copy with `non_blocking=True`.",
    expected="up to 1.09× with `non_blocking=True` if the device waits for copies; otherwise nothing, or a loss",
    source="https://github.com/metatensor/metatrain/pull/1273; slower with AllenNLP: "
    "https://github.com/allenai/allennlp/issues/4670",
    before="DataLoader(dataset, batch_size=64, num_workers=4)",
    after="DataLoader(dataset, batch_size=64, num_workers=4, pin_memory=True)",
    look=look,
    gain=Gain(Time.INPUT, 1.09),
)
