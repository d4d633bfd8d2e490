"""How many workers loaders have by the defaults of what builds them."""

import pytest

from flyball_planner.audit.loaders import loaders
from flyball_planner.audit.worker_counts import has_none_by_default
from tests.planner.audit.projects import module_of

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
