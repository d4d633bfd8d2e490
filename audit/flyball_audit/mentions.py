"""Whether a file, or one beside it (imported, importing), says anything of a matter: what it says is not missing."""

import re
from typing import TYPE_CHECKING

from flyball_audit.module import Module

if TYPE_CHECKING:
    from flyball_audit.project import Project


def quick(pattern: str) -> re.Pattern[str]:
    r"""The same pattern, several times quicker to look for: `c(?<=\bc)uda` for `\bcuda`.

    Python skips to the letters with which an alternative may begin, unless one begins with `\b`.
    """
    return re.compile(re.sub(r"(^|[|(])\\b(\w)", r"\1\2(?<=\\b\2)", pattern))


DEVICE = quick(r"\bcuda\b|\.cuda\(")
"""The code is meant for a GPU, at least sometimes."""

_MOVES = re.compile(r"\.to\((\w+\.)*device\b")
_STAYS = re.compile(r"""device(\(|\s*=\s*)['"]cpu['"]""")

TRAINERS = frozenset({"lightning", "accelerate", "deepspeed", "composer", "fastai", "ignite"})
"""Frameworks whose launcher or configuration, which is no Python, may decide."""


def mentions(project: "Project", module: Module, words: re.Pattern[str]) -> bool:
    """Whether the words stand anywhere in a file or those beside it."""
    return any(each.says(words) for each in project.beside(module))


def is_for_a_device(project: "Project", module: Module) -> bool:
    """Whether code is for a GPU: it says so, or moves tensors to a device that nobody calls the processor."""
    if mentions(project, module, DEVICE):
        return True
    return mentions(project, module, _MOVES) and not mentions(project, module, _STAYS)


def stays_on_host(module: Module) -> bool:
    """Whether a file names the processor as its device, and no other way: training on many cores."""
    return module.says(_STAYS) and not module.says(DEVICE) and not module.says(_MOVES)


def names_no_device(project: "Project", module: Module) -> bool:
    """Whether no file connected with a file speaks of a device, or of a framework that moves what it has.

    A script, which no file imports, knows what it uses; what else stands in a library tells nothing of it.
    """
    if module.says(_MAY_LEAVE):
        return False
    known = project.used_by(module) if project.is_script(module) else project.connected(module)
    return not any(each.says(_MAY_LEAVE) for each in known)


_MAY_LEAVE = re.compile(
    r"cuda|device|\.to\(|gpu|accelerat|lightning|fabric|transformers|composer|fastai|ignite|deepspeed|catalyst"
    r"|mmengine|horovod|\b(xpu|npu|mps|hpu|xla)\b",
    re.IGNORECASE,
)


def launched_by(project: "Project", module: Module) -> frozenset[str]:
    """The frameworks that may configure what a file does."""
    return TRAINERS & frozenset[str]().union(*(each.frameworks for each in project.beside(module)))


def is_left_out(project: "Project", module: Module, words: re.Pattern[str]) -> bool:
    """Whether code for a GPU, which no launcher may configure, says nothing of a matter."""
    if launched_by(project, module) or mentions(project, module, words):
        return False
    return mentions(project, module, DEVICE)
