"""Which code runs for each sample, and which names in it follow from the sample that is asked for."""

import pytest

from flyball_audit.samples import samples
from tests.audit.projects import module_of

BEGIN = "from torch.utils.data import Dataset, DataLoader\nclass Data(Dataset):\n    def __getitem__(self, i):\n"


def _following(body: str, more: str = "") -> dict[str, frozenset[str]]:
    """By function that runs for a sample: the names in it that follow from the item."""
    text = BEGIN + "".join(f"        {line}\n" for line in body.split("\n")) + more
    project, module = module_of(text)
    return {each.functions[-1].name: each.following() for each in samples(module, project)}


@pytest.mark.parametrize(
    "body",
    [
        "p = self.paths[i]",
        "a, p = self.rows[i]",
        "for p in (f'{i}.npy', 'x'): pass",
        "ps = [p for p in self.files[i]]",
        "with open(str(i)) as p: pass",
        "p = []\np.append(i)",
        "p = {}\np['x'] = i",
        "p = random.choice(self.paths)",
        "for p, n in self.parts:\n    if i >= n:\n        i -= n\n        continue",
    ],
)
def test_what_is_made_of_the_item_or_drawn_anew_follows_from_it(body: str) -> None:
    """Assignments, loops, `with` and chance make names that change from sample to sample."""
    assert "p" in _following(body)["__getitem__"]


@pytest.mark.parametrize("body", ["p = self.path", "for p in self.paths: pass", "p = f'{self.root}/x.npy'"])
def test_what_is_the_same_for_all_does_not_follow(body: str) -> None:
    """A path of the object's own stays what it is."""
    assert "p" not in _following(body)["__getitem__"]


def test_an_argument_follows_if_a_call_hands_the_item_over() -> None:
    """By place and by keyword, through the object's own methods."""
    more = "    def load(self, path, n, *, k=0):\n        return path\n"
    assert _following("return self.load(self.path, i, k=2)", more)["load"] == {"n"}
    assert _following("return self.load(self.path, 1, k=i)", more)["load"] == {"k"}
    assert _following("return self.load(*i)", more)["load"] == {"path", "n"}


def test_what_puts_a_batch_together_runs_for_each_batch() -> None:
    """A function that a loader is handed is asked like a data set's own."""
    more = "def join(rows):\n    return rows\nloader = DataLoader(Data(), collate_fn=join)\n"
    assert _following("pass", more)["join"] == {"rows"}


def test_a_class_is_a_data_set_by_its_base_or_by_its_name_and_length() -> None:
    """Where the base is not at hand, a length and a name tell."""
    begin = "import torch\nclass TrainSet:\n    def __getitem__(self, i): return i\n"
    for text, found in ((begin, False), (begin + "    def __len__(self): return 3\n", True)):
        project, module = module_of(text)
        assert bool([*samples(module, project)]) is found
