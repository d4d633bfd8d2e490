"""`loader-without-workers`: samples are read and transformed by the training process itself, between its steps."""

from collections.abc import Iterator

from flyball_audit.finding import Gain, Severity, Time
from flyball_audit.flow.values import Literal
from flyball_audit.loaders import Loader, keyword, loaders, trainer_settings
from flyball_audit.project import Module, Project
from flyball_audit.rule import LIKELY, SUSPECTED, Match, Rule
from flyball_audit.sample_costs import costs_little, fetches_rows
from flyball_audit.worker_counts import has_none_by_default

WORKERS = 4
"""A beginning: PyTorch's tutorial “Data Loading Optimization” starts at 2–4 a GPU and raises it while that helps."""


def look(module: Module, project: Project) -> Iterator[Match]:
    """Loaders of the module that are made without workers."""
    for loader in loaders(module, project):
        workers = loader.argument("num_workers")
        missing = loader.misses("num_workers")
        none = missing or (workers is not None and loader.constant("num_workers") == 0)
        by_default = not none and has_none_by_default(project, loader)
        if (none or by_default) and not costs_little(project, loader):
            yield _match(loader, missing=missing, by_default=by_default)
        elif none and fetches_rows(project, loader):
            yield _of_rows(loader)
    for call in trainer_settings(module, project):
        given = keyword(call, "dataloader_num_workers")
        if given is not None and project.flow.value(module, given.value).literal == Literal(0):
            yield Match(
                given,
                "`dataloader_num_workers=0`",
                "the Trainer's loaders prepare each batch in the training process",
                LIKELY,
            )


def _match(loader: Loader, *, missing: bool, by_default: bool) -> Match:
    known = (loader.dataset_class is not None or loader.dataset_made_by is not None) and not by_default
    what = "has `num_workers=0`" if missing else "has no `num_workers`"
    what += " by default" if by_default else ""
    return Match(
        loader.call,
        f"`{loader.module.quote(loader.call)}` {what}",
        f"each batch of {loader.dataset_words} is prepared in the training process while the device waits",
        LIKELY if known else SUSPECTED,
        edit=None if by_default else loader.setting("num_workers", str(WORKERS)),
    )


def _of_rows(loader: Loader) -> Match:
    return Match(
        loader.call,
        f"`{loader.module.quote(loader.call)}` fetches rows of data in memory one at a time",
        f"{loader.dataset_words} returns one row at a time, and Python assembles each batch between two steps",
        SUSPECTED,
        change="Take a whole batch at once (`x[indices]` with a shuffled `torch.randperm`, on the device if it has "
        "room), or set `num_workers`.",
    )


RULE = Rule(
    id="loader-without-workers",
    severity=Severity.NOTE,
    summary="A DataLoader has no worker processes.",
    cause="With `num_workers=0`, reading, decoding and collating alternate with the steps instead of running at the "
    "same time.",
    change=f"Set `num_workers` (start with {WORKERS} per device and increase it until the wait for data stops "
    "falling) and `persistent_workers=True`.",
    expected="up to the whole wait for data: 1.3× for graphs in memory, 4.3× for a training that decodes images (3 "
    "to 13 steps a second)",
    source="four workers: https://github.com/harryjo97/GDSS/issues/13; from two workers to more: "
    "https://github.com/open-edge-platform/geti/pull/5958",
    before="DataLoader(dataset, batch_size=64, shuffle=True)",
    after=f"DataLoader(dataset, batch_size=64, shuffle=True, num_workers={WORKERS}, persistent_workers=True)",
    look=look,
    gain=Gain(Time.INPUT, 4.3),
)
