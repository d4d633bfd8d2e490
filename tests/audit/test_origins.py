"""Where a library's objects come from, through names, attributes, arguments and files."""

import ast
from collections.abc import Mapping

import pytest

from tests.audit.projects import project_of


def _origin(files: Mapping[str, str], within: str) -> str | None:
    """The origin of what is called in the file's last call."""
    project = project_of(files)
    module = project.modules[within]
    last = max(module.all(ast.Call), key=lambda each: (each.lineno, each.col_offset))
    return project.origins.of(module, last.func)


@pytest.mark.parametrize(
    "code",
    [
        "import httpx\nclient = httpx.Client()\nclient.get(1)",
        "from httpx import Client as C\ndef f():\n    client = C()\n    client.get(1)",
        "import httpx\ndef f():\n    with httpx.Client() as client:\n        client.get(1)",
        "import httpx\ndef f(client: httpx.Client):\n    client.get(1)",
        "import httpx\nclass A:\n    def f(self):\n        self.c = httpx.Client()\n        self.c.get(1)",
        "import httpx\nif (client := httpx.Client()):\n    client.get(1)",
        "import httpx\nclients = httpx.Client()\nclients[0].get(1)",
    ],
)
def test_an_object_is_followed_to_the_call_that_made_it(code: str) -> None:
    """Aliases, locals, `with`, annotations, attributes of self and parts of containers lead back."""
    assert _origin({"a.py": code}, "a") == "httpx.Client().get"


def test_an_argument_is_what_callers_hand_over() -> None:
    """A function without annotations is understood from its calls, in other files too."""
    files = {
        "use.py": "import sqlite3\nfrom store import save\nsave(sqlite3.connect('x'), [])\n",
        "store.py": "def save(connection, rows):\n    connection.commit()\n",
    }
    assert _origin(files, "store") == "sqlite3.connect().commit"


@pytest.mark.parametrize("code", ["x.get(1)", "def f(client):\n    client.get(1)", "x = y = x\nx.get(1)"])
def test_what_begins_in_no_library_has_no_origin(code: str) -> None:
    """Unknown names, arguments nobody hands over, and circles end without an answer."""
    assert _origin({"a.py": code}, "a") is None


@pytest.mark.parametrize(
    "made",
    [
        "def made():\n    return httpx.Client()\n",
        "def made() -> httpx.Client:\n    return opened[0]\n",
        "def made() -> httpx.Client | None:\n    return opened[0]\n",
        "def made() -> Optional[httpx.Client]:\n    return opened[0]\n",
    ],
)
def test_a_function_of_the_project_gives_what_it_returns(made: str) -> None:
    """As its body says, or the annotation of what it gives."""
    assert (
        _origin({"a.py": f"import httpx\nfrom typing import Optional\n{made}made().get(1)"}, "a")
        == "httpx.Client().get"
    )


def test_what_a_context_of_the_project_yields_is_known_too() -> None:
    """A generator that `contextmanager` makes a context of; a function that gives nothing leads nowhere."""
    code = "import sqlite3\nclass A:\n    def open(self):\n        yield sqlite3.connect(1)\n"
    code += "    def f(self):\n        with self.open() as held:\n            held.commit()"
    assert _origin({"a.py": code}, "a") == "sqlite3.connect().commit"
    assert _origin({"a.py": "def made() -> int:\n    pass\nmade().get(1)"}, "a") != "builtins.int().get"
