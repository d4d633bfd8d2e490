"""What a file, or one beside it, says of a matter."""

import re
from collections.abc import Mapping

import pytest

from flyball_audit.mentions import DEVICE, is_left_out, launched_by, mentions, names_no_device, quick
from tests.audit.projects import project_of

SEED = re.compile(r"\bmanual_seed\b")


def _left_out(files: Mapping[str, str]) -> bool:
    project = project_of(files)
    return is_left_out(project, project.modules["train"], SEED)


@pytest.mark.parametrize("code", ["x.cuda()", "x.to('cuda')", "device = 'cuda:0'", "import torch.cuda"])
def test_code_for_a_gpu_is_known_by_its_words(code: str) -> None:
    """A method, a device's name or an import tells it; a longer word does not."""
    project = project_of({"train.py": code})
    assert mentions(project, project.modules["train"], DEVICE)
    assert not DEVICE.search("barracudas and cudaless")


@pytest.mark.parametrize("pattern", [r"\bamp\b", r"x|\bnn\.(LSTM|GRU)\b|\bamp\(", r"(\bamp|y)z*", "amp"])
def test_a_quick_pattern_matches_what_the_plain_one_does(pattern: str) -> None:
    """Where words begin, in the middle of others, and at both ends of a text."""
    texts = ["amp", "example", "use amp(", "lamp(", "my_nn.LSTM", "nn.LSTM", "nn.LSTMs", "ampzz", "lampz", ""]
    assert [bool(quick(pattern).search(each)) for each in texts] == [bool(re.search(pattern, each)) for each in texts]


def test_a_matter_that_a_neighbour_settles_is_not_left_out() -> None:
    """What is imported may set it, and so may what imports; a file that has nothing to do with either may not."""
    train = "import torch\ndef main(x):\n    x.cuda()\n"
    seeds = "import torch\ntorch.manual_seed(1)\n"
    assert _left_out({"train.py": train})
    assert _left_out({"train.py": train, "apart.py": seeds})
    assert not _left_out({"train.py": f"import seeds\n{train}", "seeds.py": seeds})
    assert not _left_out({"train.py": train, "start.py": f"import train\n{seeds}"})


def test_code_that_names_no_gpu_leaves_nothing_out() -> None:
    """What matters on a GPU alone is not asked of it."""
    assert not _left_out({"train.py": "import torch\ndef main(x):\n    x.sum()\n"})


@pytest.mark.parametrize("framework", ["lightning", "accelerate", "deepspeed", "composer", "fastai", "ignite"])
def test_a_launcher_may_set_what_the_code_does_not(framework: str) -> None:
    """Its configuration is no Python, and nobody read it; the file that trains need not import it itself."""
    files = {
        "train.py": "import torch\ndef main(x):\n    x.cuda()\n",
        "start.py": f"import {framework}\nimport train\n",
    }
    project = project_of(files)
    assert launched_by(project, project.modules["train"]) == {framework}
    assert not _left_out(files)


def test_a_library_of_models_launches_nothing() -> None:
    """Only frameworks count whose launcher configures a training."""
    project = project_of({"train.py": "import transformers\n"})
    assert launched_by(project, project.modules["train"]) == frozenset()


def test_a_text_is_looked_for_in_files_that_know_each_other() -> None:
    """Imported or importing, through others too, and one of the texts suffices; a stranger's text is not heard."""
    files = {"a.py": "import b\n", "b.py": "import c\n", "c.py": "x.cuda()\n", "d.py": "y.npu()\n"}
    project = project_of(files)
    assert [project.speaks_of(each, "absent", ".cuda(") for each in project.modules.values()] == [
        True,
        True,
        True,
        False,
    ]
    assert not project.speaks_of(project.modules["a"], ".npu(")


@pytest.mark.parametrize(
    ("code", "none"),
    [
        ("loss.backward()", True),
        ("class Trainer: ...", True),
        ("x.to(given)", False),
        ("device = 3", False),
        ("from lightning import x", False),
    ],
)
def test_code_that_names_no_device_stays_where_it_is(code: str, none: bool) -> None:
    """A file whose functions it uses may name one for it."""
    alone = project_of({"train.py": code})
    assert names_no_device(alone, alone.modules["train"]) is none
    beside = project_of({"train.py": "from other import go\ngo()", "other.py": f"{code}\ndef go(): ..."})
    assert names_no_device(beside, beside.modules["train"]) is none
