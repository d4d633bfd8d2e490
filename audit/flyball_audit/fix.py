"""What findings change in files: as patches to look at, or written, with encoding and line ends as they were."""

import io
import os
import shutil
import tempfile
import tokenize
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import groupby
from pathlib import Path

from flyball_audit.diff import Replaced, replaced, unified_diff
from flyball_audit.edits import apply
from flyball_audit.finding import Finding
from flyball_reports.errors import InputError, read_fault

ROUNDS = 8
"""Times that a mended file is audited anew: a change may uncover another; two are usual."""


@dataclass(frozen=True)
class Text:
    """A file's text with its line ends, and how its bytes spell it."""

    path: str
    text: str
    encoding: str


@dataclass(frozen=True)
class Patch:
    """A file before and after some findings' changes."""

    file: Text
    after: str
    fixed: tuple[Finding, ...]
    left: tuple[tuple[Finding, str], ...] = ()
    """What could not be changed by itself, and why."""

    @cached_property
    def diff(self) -> str:
        """For people, `patch` and `git apply`."""
        return unified_diff(self.file.path, self.file.text, self.after)

    @cached_property
    def replaced(self) -> Replaced:
        """What changes, from the first to the last line of it."""
        return replaced(self.file.text, self.after)


def read_text(path: str) -> Text:
    """A Python file as it is: the parser's own rules for encodings, else Latin-1, which keeps any bytes."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise InputError(read_fault(path, error)) from None
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        return Text(path, data.decode(encoding), encoding)
    except (SyntaxError, UnicodeDecodeError, LookupError):
        return Text(path, data.decode("latin-1"), "latin-1")


def patch(file: Text, findings: Iterable[Finding]) -> Patch:
    """All changes of a file's findings that can be made together."""
    asked = [each for each in findings if each.edit is not None]
    applied = apply(file.text, [each.edit for each in asked if each.edit is not None])
    reasons = {id(edit): reason for edit, reason in applied.left}
    left = tuple((each, reasons[id(each.edit)]) for each in asked if id(each.edit) in reasons)
    fixed = tuple(each for each in asked if id(each.edit) not in reasons)
    return Patch(file, applied.text, fixed, left)


PatchOf = Callable[[Finding], Patch | None]
"""The change of one finding, if a program can make it."""


def patcher(read: Callable[[str], Text] = read_text) -> PatchOf:
    """Makes the change of one finding after the other, and reads each file once."""
    read_once = cache(read)
    return lambda finding: patch(read_once(finding.path), [finding]) if fixable(finding) else None


def fixable(finding: Finding) -> bool:
    """Whether a change is known that a program can make; cells of notebooks are left to people."""
    return finding.edit is not None and finding.cell is None


def safely_fixable(finding: Finding) -> bool:
    """The same, and results stay as they were."""
    return fixable(finding) and finding.edit is not None and finding.edit.safe


def patches(findings: Iterable[Finding], wanted: Callable[[Finding], bool]) -> Iterator[Patch]:
    """A patch for each file with findings that are wanted."""
    ordered = sorted(filter(wanted, findings), key=lambda each: each.order)
    for path, group in groupby(ordered, key=lambda each: each.path):
        yield patch(read_text(path), group)


def staged(findings: Iterable[Finding]) -> Iterator[tuple[Patch, Patch]]:
    """For each file two patches, one upon the other: what is safe, and what is to be looked at first."""
    for safe_and_other in patches(findings, fixable):
        file, asked = safe_and_other.file, (*safe_and_other.fixed, *(each for each, _ in safe_and_other.left))
        safe = patch(file, sorted(filter(safely_fixable, asked), key=lambda each: each.order))
        whole = patch(file, (*safe.fixed, *sorted(set(asked) - set(safe.fixed), key=lambda each: each.order)))
        fixed = tuple(each for each in whole.fixed if each not in safe.fixed)
        yield safe, Patch(replace(file, text=safe.after), whole.after, fixed, whole.left)


def write(patch: Patch) -> None:
    """Put the new text in the file's place, whole or not at all; a file that changed meanwhile is left alone."""
    path = Path(patch.file.path).resolve()
    if read_text(patch.file.path) != patch.file:
        raise InputError(f"{patch.file.path} changed during the audit and was not written; run the audit again")
    temporary = ""
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
            temporary = file.name
            file.write(patch.after.encode(patch.file.encoding))
        shutil.copymode(path, temporary)
        Path(temporary).replace(path)
    except (OSError, UnicodeEncodeError) as error:
        with suppress(OSError):
            os.unlink(temporary)  # noqa: PTH108  it may not have been made
        raise InputError(f"cannot write {patch.file.path}: {error}") from None


@dataclass(frozen=True)
class Fixed:
    """What was written."""

    findings: tuple[Finding, ...]
    files: tuple[str, ...]


def fix(findings: Iterable[Finding], again: Callable[[], Iterable[Finding]]) -> Fixed:
    """Write the safe changes, audit again, and go on until none is left."""
    mended: list[Finding] = []
    files: dict[str, None] = {}
    for _ in range(ROUNDS):
        found = [each for each in patches(findings, safely_fixable) if each.fixed and each.after != each.file.text]
        if not found:
            break
        for each in found:
            write(each)
            mended += each.fixed
            files[each.file.path] = None
        findings = again()
    return Fixed(tuple(mended), tuple(files))
