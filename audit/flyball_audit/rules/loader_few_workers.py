"""`loader-few-workers`: one worker process prepares all samples."""

from collections.abc import Iterator

from flyball_audit.finding import Gain, Severity, Time
from flyball_audit.flow.values import Literal
from flyball_audit.loaders import keyword, loaders, trainer_settings
from flyball_audit.project import Module, Project
from flyball_audit.rule import LIKELY, Match, Rule
from flyball_audit.rules.loader_without_workers import WORKERS
from flyball_audit.sample_costs import costs_little, streams


def look(module: Module, project: Project) -> Iterator[Match]:
    """Loaders with a single worker."""
    for loader in loaders(module, project):
        one = loader.constant("num_workers") == 1 and loader.constant("num_workers") is not True
        if one and not streams(project, loader) and not costs_little(project, loader):
            yield Match(
                loader.call,
                f"`{module.quote(loader.call)}` has one worker process",
                f"one process prepares all batches of {loader.dataset_words}, one after the other",
                LIKELY,
                edit=loader.setting("num_workers", str(WORKERS)),
            )
    for call in trainer_settings(module, project):
        given = keyword(call, "dataloader_num_workers")
        if given is not None and project.flow.value(module, given.value).literal == Literal(1):
            yield Match(given, "`dataloader_num_workers=1`", "one process prepares all batches of the Trainer", LIKELY)


RULE = Rule(
    id="loader-few-workers",
    severity=Severity.NOTE,
    summary="A DataLoader has a single worker process.",
    cause="One process rarely reads and transforms data as fast as a device trains, while the other CPU cores are "
    "idle.",
    change=f"Start with `num_workers={WORKERS}` per device and increase it until the wait for data stops falling. "
    "Stay below the number of cores.",
    expected="up to the whole wait for data: 4.3× for a training that decodes images (3 to 13 steps a second)",
    source="from two workers to more, with a deeper queue: https://github.com/open-edge-platform/geti/pull/5958",
    before="DataLoader(dataset, batch_size=64, num_workers=1)",
    after=f"DataLoader(dataset, batch_size=64, num_workers={WORKERS})",
    look=look,
    gain=Gain(Time.INPUT, 4.3),
)
