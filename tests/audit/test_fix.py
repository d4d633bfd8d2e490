"""Files that are mended: only what is safe, only what is asked, and whole."""

import ast
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from flyball_audit.finding import Action, Change, Edit, Finding, Severity, Span
from flyball_audit.fix import ROUNDS, fix, fixable, patch, patches, read_text, safely_fixable, staged, write
from flyball_reports.errors import InputError


def _calls(path: Path, name: str, *, safe: bool = True) -> list[Finding]:
    """A rule for tests: the argument `a` of a function is to go."""
    found = []
    for node in ast.walk(ast.parse(read_text(str(path)).text)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == name and node.keywords:
            place = (node.lineno, node.col_offset + 1, node.end_lineno or 0, (node.end_col_offset or 0) + 1)
            edit = Edit((Change(Action.DROP_ARGUMENT, Span(*place), name="a"),), safe)
            found.append(
                Finding("drop-a", str(path), *place[:2], Severity.WARNING, 0.9, "", "", "", "", *place[2:], edit=edit)
            )
    return found


def _file(folder: Path, data: bytes) -> Path:
    path = folder / "train.py"
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"f(a=1)\r\nb\r\n", b"f()\r\nb\r\n"),
        (b"\xef\xbb\xbff(a=1)  # \xc3\xa9\n", b"\xef\xbb\xbff()  # \xc3\xa9\n"),
        (b"# -*- coding: latin-1 -*-\n# \xe9\nf(a=1)\n", b"# -*- coding: latin-1 -*-\n# \xe9\nf()\n"),
        (b"f(a=1)", b"f()"),
    ],
)
def test_every_other_byte_stays(before: bytes, after: bytes, tmp_path: Path) -> None:
    """Encoding, byte-order mark, line ends, the missing one at the end."""
    path = _file(tmp_path, before)
    fixed = fix(_calls(path, "f"), lambda: _calls(path, "f"))
    assert path.read_bytes() == after
    assert (len(fixed.findings), fixed.files) == (1, (str(path),))


def test_only_safe_changes_are_written(tmp_path: Path) -> None:
    """Others are patches to look at."""
    path = _file(tmp_path, b"f(a=1)\ng(a=1)\n")
    findings = [*_calls(path, "f"), *_calls(path, "g", safe=False)]
    assert fix(findings[1:], list).findings == ()
    assert path.read_bytes() == b"f(a=1)\ng(a=1)\n"
    (made,) = patches(findings, fixable)
    assert "-f(a=1)\n-g(a=1)\n+f()\n+g()\n" in made.diff


def test_what_a_change_uncovers_is_mended_too(tmp_path: Path) -> None:
    """Changes inside of each other cannot be made at once."""
    path = _file(tmp_path, b"f(f(a=1), a=2)\n")

    def outermost() -> list[Finding]:
        return _calls(path, "f")[:1]

    assert len(fix(outermost(), outermost).findings) == 2
    assert path.read_bytes() == b"f(f())\n"


def test_a_review_that_never_ends_is_ended(tmp_path: Path) -> None:
    """A rule that finds its own change again must not loop forever."""
    path = _file(tmp_path, b"x = 1\n")
    rounds = []

    def review() -> list[Finding]:
        rounds.append(1)
        span = Span(1, 1, 1, 6)
        edit = Edit((Change(Action.BEFORE, span, "y = 2"),), safe=True)
        line = read_text(str(path)).text.count("\n")
        moved = Edit((replace(edit.changes[0], span=Span(line, 1, line, 6)),), safe=True)
        return [Finding("r", str(path), 1, 1, Severity.WARNING, 0.9, "", "", "", "", 1, 6, edit=moved)]

    fix(review(), review)
    assert len(rounds) == 1 + ROUNDS


def test_notebooks_and_findings_without_a_change_are_left_to_people(tmp_path: Path) -> None:
    """Their diffs would not be those of a Python file."""
    (finding,) = _calls(_file(tmp_path, b"f(a=1)\n"), "f")
    assert safely_fixable(finding)
    assert not fixable(replace(finding, cell=2))
    assert not fixable(replace(finding, edit=None))
    assert not safely_fixable(replace(finding, edit=Edit(finding.edit.changes if finding.edit else ())))


def test_a_file_that_changed_meanwhile_is_left_alone(tmp_path: Path) -> None:
    """Nobody's work is lost."""
    path = _file(tmp_path, b"f(a=1)\n")
    made = patch(read_text(str(path)), _calls(path, "f"))
    path.write_bytes(b"f(a=1)  # mine\n")
    with pytest.raises(InputError, match="changed during the audit"):
        write(made)
    assert path.read_bytes() == b"f(a=1)  # mine\n"


def test_mode_and_links_stay(tmp_path: Path) -> None:
    """A script stays executable, and a link a link."""
    path = _file(tmp_path, b"f(a=1)\n")
    path.chmod(0o754)
    link = tmp_path / "link.py"
    link.symlink_to(path)
    fix(_calls(link, "f"), lambda: _calls(link, "f"))
    assert link.is_symlink()
    assert path.read_bytes() == b"f()\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o754
    assert sorted(each.name for each in tmp_path.iterdir()) == ["link.py", "train.py"]


def test_a_file_that_is_gone_is_said(tmp_path: Path) -> None:
    """In words, with its name."""
    path = _file(tmp_path, b"f(a=1)\n")
    made = patch(read_text(str(path)), _calls(path, "f"))
    path.unlink()
    with pytest.raises(InputError, match=r"there is no file .*train\.py"):
        write(made)


def test_patches_come_in_two_stages(tmp_path: Path) -> None:
    """What is safe first; what is to be looked at builds on it."""
    path = _file(tmp_path, b"f(a=1)\ng(a=1)\n")
    ((safe, other),) = staged([*_calls(path, "g", safe=False), *_calls(path, "f")])
    assert (safe.file.text, safe.after) == ("f(a=1)\ng(a=1)\n", "f()\ng(a=1)\n")
    assert (other.file.text, other.after) == (safe.after, "f()\ng()\n")
    assert [len(each.fixed) for each in (safe, other)] == [1, 1]
