"""Diffs are those that `patch` takes."""

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyball_audit.diff import unified_diff

lines = st.lists(st.sampled_from(["a\n", "b\n", "c\r\n", "\n", "\x0c\n", "é\u2028\n"]), max_size=12)
texts = st.tuples(lines, st.sampled_from(["", "end"])).map(lambda both: "".join(both[0]) + both[1])


def _patched(before: str, diff: str) -> str:
    """Apply a unified diff the plain way, by its line numbers."""
    old, at, last = before.split("\n"), 0, ""
    result: list[str] = []
    old = [f"{line}\n" for line in old[:-1]] + ([old[-1]] if old[-1] else [])
    for line in diff.split("\n")[2:-1]:
        if line.startswith("@@"):
            first, _, count = line.split()[1][1:].partition(",")
            start = int(first) - (count != "0")
            result += old[at:start]
            at = start
        elif line.startswith("\\"):
            if result and last == "+":
                result[-1] = result[-1].removesuffix("\n")
            continue
        elif line[0] == "+":
            result.append(f"{line[1:]}\n")
        else:
            assert old[at].removesuffix("\n") == line[1:]
            result += [old[at]] if line[0] == " " else []
            at += 1
        last = line[0]
    return "".join(result + old[at:])


@given(texts, texts)
def test_the_diff_leads_from_one_text_to_the_other(before: str, after: str) -> None:
    """Whatever their lines and line ends."""
    assert _patched(before, unified_diff("a.py", before, after)) == after


def test_equal_texts_have_no_diff() -> None:
    """So that nothing is printed."""
    assert unified_diff("a.py", "x\n", "x\n") == ""


def test_a_small_change_of_a_long_file_is_a_small_diff() -> None:
    """With three lines around it and its own line numbers."""
    old = "".join(f"{n}\n" for n in range(1, 20_001))
    diff = unified_diff("src/a.py", old, old.replace("\n15000\n", "\nx\n"))
    assert diff.startswith("--- a/src/a.py\n+++ b/src/a.py\n@@ -14997,7 +14997,7 @@\n 14997\n")
    assert diff.count("\n") == 11


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_git_applies_it(tmp_path: Path) -> None:
    """Also where the last line has no end."""
    before, after = "a\r\nb\r\nc", "a\r\nB\r\nc\nd"
    (tmp_path / "a.py").write_bytes(before.encode())
    diff = unified_diff("a.py", before, after)
    subprocess.run(["git", "apply", "-"], cwd=tmp_path, input=diff.encode(), check=True)
    assert (tmp_path / "a.py").read_bytes().decode() == after
