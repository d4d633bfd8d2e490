"""What the files of a project know of each other."""

import pytest

from tests.audit.projects import project_of

_FILES = {
    "a.py": "import b",
    "b.py": "import c\nimport d",
    "c.py": "import a",
    "d.py": "import e",
    "e.py": "import os",
    "top.py": "import a",
}


@pytest.mark.parametrize("first", ["a", "b", "c", "d", "e", "top"])
def test_imports_are_followed_whichever_file_asks_first(first: str) -> None:
    """A circle, what leads into it, and what leads out of it."""
    project = project_of(_FILES)
    project.imports_of(project.modules[first])
    found = {name: "".join(sorted(each.name for each in project.imports_of(module)))
             for name, module in project.modules.items()}  # fmt: skip
    assert found == {"a": "abcde", "b": "abcde", "c": "abcde", "d": "e", "e": "", "top": "abcde"}


def test_files_that_import_each_other_share_what_they_import() -> None:
    """A package whose files all know each other would else keep as many sets as files, each of all of them."""
    project = project_of(_FILES)
    circle = [project.imports_of(project.modules[each]) for each in ("b", "a", "c")]
    assert all(each is circle[0] for each in circle)
