"""Which calls are made once for each item of a loop, and depend on it."""

import ast
from collections.abc import Mapping

import pytest

from flyball_audit.items import Item, repeated
from flyball_audit.module import last_name
from tests.audit.projects import project_of


def _items(files: Mapping[str, str], within: str = "a", named: str = "ask") -> list[Item]:
    """The loops that repeat the calls of that name in a file."""
    project = project_of(files)
    module = project.modules[within]
    calls = [each for each in module.all(ast.Call) if last_name(each) == named]
    return [item for call in calls for item in repeated(project, module, call)]


@pytest.mark.parametrize(
    "code",
    [
        "for x in xs:\n    ask(x)",
        "ys = [ask(x) for x in xs]",
        "for i in range(n):\n    y = f(i)\n    ask(y)",
        "for x in xs:\n    with open(x) as file:\n        ask(file)",
    ],
)
def test_a_call_about_the_item_is_repeated(code: str) -> None:
    """Loops and comprehensions count; what was made of the item is about the item."""
    assert len(_items({"a.py": code})) == 1


@pytest.mark.parametrize(
    "code",
    [
        "ask(x)",
        "while True:\n    ask(x)",
        "for attempt in range(n):\n    ask(url)",
        "for x in xs:\n    ask(url)",
        "for batch in batches:\n    ask(batch)",
        "for i in range(0, n, size):\n    ask(xs[i : i + size])",
        "for name in ('a', 'b'):\n    ask(name)",
        "for x in xs:\n    if x not in known:\n        ask(x)",
        "for step in range(n):\n    if step % 100 == 0:\n        ask(step)",
        "for x in xs:\n    def later():\n        ask(x)",
    ],
)
def test_attempts_batches_caches_and_lists_in_the_code_are_no_items(code: str) -> None:
    """Each turn is the same again, many items at once, seldom, or one of a few."""
    assert not _items({"a.py": code})


def test_a_loop_elsewhere_that_leads_to_the_call_is_found() -> None:
    """The item is the call in the loop, whichever file the loop is in."""
    files = {
        "service.py": "import requests\nclass Service:\n    def one(self, key):\n        return requests.get(key)\n",
        "a.py": "from service import Service\ndef f(keys, s: Service):\n    for key in keys:\n        s.one(key)\n",
    }
    (item,) = _items(files, "service", "get")
    assert (item.module.name, item.call.lineno, item.in_words) == ("a", 4, "for each of `keys`")
