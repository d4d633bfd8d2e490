"""Loaders that are built for a training whose loop is not among the files."""

import pytest

from flyball_audit.built import is_built_for_training
from flyball_audit.loaders import loaders
from tests.audit.projects import module_of

_BEFORE = "from torch.utils.data import DataLoader, TensorDataset\nfrom far import Data, Trainer\n"


def _is_built(code: str) -> bool:
    project, module = module_of(_BEFORE + code)
    (loader,) = loaders(module, project)
    return is_built_for_training(project, loader)


@pytest.mark.parametrize(
    "code",
    [
        "def train_dataloader(self):\n    return DataLoader(Data())\n",
        "def get_loader(path):\n    return DataLoader(Data(path))\n",
        "def loaders_from_paths(path):\n    return DataLoader(Data(path))\n",
        "def data():\n    valid = DataLoader(Data())\n    return valid\n",
        "def data():\n    train = DataLoader(Data())\n    return {'train': train}\n",
        "def data():\n    some: DataLoader = DataLoader(Data(), shuffle=True)\n    return some, 1\n",
        "def data(train_set):\n    return DataLoader(train_set)\n",
        "class Own:\n    def __init__(self):\n        self.train_loader = DataLoader(Data())\n",
        "def main():\n    some = DataLoader(Data(), shuffle=True)\n    Trainer().fit(some)\n",
    ],
)
def test_who_gives_a_loader_away_for_training_builds_it(code: str) -> None:
    """By its name, its builder's, its data's, or as it is shuffled."""
    assert _is_built(code)


@pytest.mark.parametrize(
    "code",
    [
        "def test_dataloader(self):\n    return DataLoader(Data())\n",
        "def data():\n    test_loader = DataLoader(Data(), shuffle=True)\n    return test_loader\n",
        "def data(numbers):\n    return DataLoader(numbers)\n",
        "def main():\n    train = DataLoader(Data(), shuffle=True)\n    print(len(train))\n",
        "def get_loader(x):\n    return DataLoader(TensorDataset(x), shuffle=True)\n",
        "def get_loader(x):\n    train = DataLoader(Data())\n    for each in train: ...\n    return train\n",
    ],
)
def test_what_is_gone_through_once_or_here_is_not(code: str) -> None:
    """Nor what lies in memory, or goes nowhere."""
    assert not _is_built(code)
