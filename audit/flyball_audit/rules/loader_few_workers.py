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
                f"`{module.quote(loader.call)}` has one worker",
                f"a single process makes all batches of {loader.dataset_words}, one after the other",
                LIKELY,
                edit=loader.setting("num_workers", str(WORKERS)),
            )
    for call in trainer_settings(module, project):
        given = keyword(call, "dataloader_num_workers")
        if given is not None and project.flow.value(module, given.value).literal == Literal(1):
            yield Match(
                given, "`dataloader_num_workers=1`", "a single process makes all of the Trainer's batches", LIKELY
            )


RULE = Rule(
    id="loader-few-workers",
    severity=Severity.NOTE,
    summary="A DataLoader has a single worker process.",
    cause="One process seldom reads and transforms as fast as a device trains; the others of the machine's cores idle.",
    change=f"Begin with `num_workers={WORKERS}` a device and raise it until the wait for data stops falling; "
    f"stay below the cores.",
    expected="up to the whole wait for data: 4.3× where images were decoded (3 to 13 steps a second)",
    source="from two workers to more, and a deeper queue: https://github.com/open-edge-platform/geti/pull/5958",
    before="DataLoader(dataset, batch_size=64, num_workers=1)",
    after=f"DataLoader(dataset, batch_size=64, num_workers={WORKERS})",
    look=look,
    gain=Gain(Time.INPUT, 4.3),
)
