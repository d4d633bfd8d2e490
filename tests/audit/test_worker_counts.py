"""How many workers loaders have by the defaults of what builds them."""

import pytest

from flyball_audit.loaders import loaders
from flyball_audit.worker_counts import has_none_by_default
from tests.audit.projects import module_of

_BUILDER = (
    "from torch.utils.data import DataLoader\ndef build(data, n=0):\n    return DataLoader(data, num_workers=n)\n"
)


def _has_none(code: str) -> bool:
    project, module = module_of(code)
    (loader,) = loaders(module, project)
    return has_none_by_default(project, loader)


@pytest.mark.parametrize(
    "callers",
    [
        "",
        "build(1)\n",
        "build(1, 0)\n",
        "def run(data, workers=0):\n    return build(data, workers)\n",
        "class Own:\n    def __init__(self, *, n: int = 0):\n        self.loader = build(1, n=n)\nOwn()\n",
    ],
)
def test_an_argument_that_is_0_unless_asked_for_is_no_worker(callers: str) -> None:
    """Through those too that hand their own argument on."""
    assert _has_none(_BUILDER + callers)


@pytest.mark.parametrize(
    "callers",
    [
        "build(1, 4)\n",
        "build(*given)\n",
        "def run(data, workers):\n    return build(data, workers)\n",
        "def run(data, workers=2):\n    return build(data, n=workers)\n",
        "class Own:\n    def __init__(self, *, n: int = 0):\n        self.loader = build(1, n=n)\nOwn(n=2)\n",
    ],
)
def test_whoever_may_ask_for_some_ends_that(callers: str) -> None:
    """A number, an argument without a default, or what nobody sees."""
    assert not _has_none(_BUILDER + callers)


def test_what_is_given_another_value_is_no_default() -> None:
    """`n = n or count()`; nor is a constant, or a default of another kind."""
    assert not _has_none(_BUILDER.replace("    return", "    n = n or 8\n    return"))
    assert not _has_none(_BUILDER.replace("workers=n", "workers=0"))
    assert not _has_none(_BUILDER.replace("n=0", "n=False"))


@pytest.mark.parametrize(
    "given",
    [
        "int(os.environ.get('WORKERS', 0))",
        "int(os.getenv('WORKERS', '0'))",
        "getattr(settings, 'workers', 0)",
        "settings.get('workers', 0)",
        "None or 0",
        "0 if n is None else n",
        "int(n)",
    ],
)
def test_what_a_call_gives_by_default_is_a_default(given: str) -> None:
    """Of the environment, of settings, of an option; behind `int` and `or` too."""
    assert _has_none(_BUILDER.replace("workers=n", f"workers={given}"))


@pytest.mark.parametrize(
    "given",
    [
        "int(os.environ['WORKERS'])",
        "settings.get('workers')",
        "settings.get('workers', 4)",
        "0 if windows else 4",
        "n or 8",
        "None",
        "os.cpu_count()",
    ],
)
def test_what_may_be_any_number_is_no_default(given: str) -> None:
    """Where nobody says, or some ways lead to workers."""
    assert not _has_none(_BUILDER.replace("workers=n", f"workers={given}"))


_KEEPER = """from torch.utils.data import DataLoader
class Above:
    spare = 0
    def __init__(self, n=0):
        self.n = n
class Own(Above):
    def __init__(self, data, m=0, **options):
        self.data, self.m = data, 0
        self.save_hyperparameters()
    def loader(self):
        return DataLoader(self.data, num_workers=HERE)
"""


@pytest.mark.parametrize("given", ["self.n", "self.spare", "self.hparams.m"])
def test_what_an_instance_keeps_is_what_it_was_made_with(given: str) -> None:
    """Also by the class above, and where Lightning keeps the arguments."""
    assert _has_none(_KEEPER.replace("HERE", given))


def test_an_instance_that_is_made_with_some_has_some() -> None:
    """Of the class that keeps them, or wherever the attribute is given others."""
    assert not _has_none(_KEEPER.replace("HERE", "self.n") + "Above(4)\n")
    assert not _has_none(_KEEPER.replace("HERE", "self.spare").replace("spare = 0", "spare = 2"))
    assert not _has_none(_KEEPER.replace("HERE", "self.other"))
