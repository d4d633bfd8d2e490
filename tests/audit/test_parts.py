"""What may know each other is audited together, the rest apart."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flyball_audit import parts
from flyball_audit.layout import dotted_names
from flyball_audit.parts import independent
from flyball_audit.source import Source
from tests.audit.projects import project_of

PATHS = ("a.py", "b.py", "a/__init__.py", "a/b.py", "a/c.py", "b/a/c.py", "b/d.py", "c/b.py", "d/c/a.py", "d/b.py")
NAMES = ("a", "b", "c", "a.b", "b.a.c", "c.b", "a.c", "d")
IMPORTS = (
    "import {0}", "import torch, {0} as x, {1}", "from {0} import {2}", "from . import {2}", "from .{0} import x",
    "from .. import {2}", "from.{0} import (x,\n    y)", "if x: import {0}; import {1}", "from {0} \\\n    import x",
    "import torch, \\\n    {0}", "x = 1",
)  # fmt: skip


@pytest.fixture(autouse=True)
def _nothing_is_put_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "PART_CHARACTERS", 0)


def _parts(files: dict[str, str]) -> list[set[str]]:
    sources = [Source(path, text) for path, text in files.items()]
    found = independent(sources, dotted_names(sources))
    assert sorted(each.path for part in found for each in part) == sorted(files)
    return [{each.path for each in part} for part in found]


LINES = st.builds(
    str.format, st.sampled_from(IMPORTS), st.sampled_from(NAMES), st.sampled_from(NAMES), st.sampled_from("abcd")
)


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(st.sampled_from(PATHS), st.lists(LINES, max_size=3).map("\n".join), min_size=2))
def test_files_that_know_each_other_are_in_one_part(files: dict[str, str]) -> None:
    """Whatever imports what: no part lacks a file that the whole project connects with one of its own."""
    found = _parts(files)
    project = project_of(files)
    for module in project.modules.values():
        (own,) = (part for part in found if module.path in part)
        assert own >= {each.path for each in project.connected(module)}


def test_strangers_are_apart() -> None:
    """Scripts that import libraries alone, and examples that each have a `tools` of their own, know no others."""
    assert _parts({"one.py": "import torch\n", "two.py": "import torch\nimport os.path as one\n"}) == [
        {"one.py"},
        {"two.py"},
    ]
    examples = {f"{name}/{file}.py": "from tools import x\n" for name in ("cats", "dogs") for file in ("run", "tools")}
    assert _parts(examples) == [{"cats/run.py", "cats/tools.py"}, {"dogs/run.py", "dogs/tools.py"}]


def test_a_library_that_is_audited_belongs_to_who_uses_it_without_import() -> None:
    """A cell that uses `torch` without importing it is not taken apart from an audited torch."""
    assert len(_parts({"x/torch/nn.py": "", "x/cell.py": "torch.nn.Linear(1, 1)\n", "x/torch/cuda.py": ""})) == 1


def test_small_parts_are_put_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Up to a length of text; a group that is longer has a part of its own, in the order of the files."""
    monkeypatch.setattr(parts, "PART_CHARACTERS", 8)
    files = {"a.py": "x = 1", "b.py": "y", "c.py": "long = 'longer'", "d.py": "z"}
    assert _parts(files) == [{"a.py", "b.py"}, {"c.py"}, {"d.py"}]
