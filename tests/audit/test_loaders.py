"""The calls that make data loaders: their arguments, their data sets, and what a sample costs."""

import ast

import pytest

from flyball_audit.loaders import (
    Loader,
    behind,
    keyword,
    loaders,
    loops_over,
    named_for,
    trainer_settings,
)
from flyball_audit.project import Project
from flyball_audit.sample_costs import costs_little, streams
from tests.audit.projects import module_of

HEAD = "import torch\nfrom torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset\n"


def _only(text: str) -> tuple[Project, Loader]:
    """The one loader of a file that begins with the imports."""
    project, module = module_of(HEAD + text)
    (loader,) = loaders(module, project)
    return project, loader


@pytest.mark.parametrize(
    "code",
    [
        "loader = DataLoader(data)",
        "loader = torch.utils.data.DataLoader(data)",
        "from torch.utils import data as d\nloader = d.DataLoader(data)",
        "class Mine(DataLoader):\n    pass\nMaker = DataLoader\nloader = Maker(data)",
    ],
)
def test_a_loader_is_found_by_whatever_name(code: str) -> None:
    """Imports, aliases and arguments lead to the same class."""
    _, loader = _only(code)
    data = loader.argument("dataset")
    assert isinstance(data, ast.Name)
    assert data.id == "data"


@pytest.mark.parametrize(
    "code", ["loader = other.DataLoader(data)", "class DataLoader:\n    pass\nloader = DataLoader(data)", "load(data)"]
)
def test_a_class_of_another_library_is_no_loader(code: str) -> None:
    """The name alone says nothing."""
    project, module = module_of(code)
    assert list(loaders(module, project)) == []


def test_arguments_are_found_by_keyword_and_by_place() -> None:
    """The sixth by place is the number of workers; what is not given is None."""
    _, loader = _only("loader = DataLoader(data, 64, True, None, None, 8, drop_last=True)")
    assert loader.constant("num_workers") == 8
    assert loader.constant("drop_last") is True
    assert loader.argument("sampler") is not None
    assert loader.argument("pin_memory") is None
    assert loader.constant("pin_memory") is ...
    assert loader.is_complete


@pytest.mark.parametrize("code", ["DataLoader(data, *rest)", "DataLoader(data, **options)"])
def test_what_is_unpacked_is_unknown_and_not_missing(code: str) -> None:
    """Anything may be among it."""
    _, loader = _only(f"loader = {code}")
    assert not loader.is_complete
    assert loader.argument("num_workers") is None
    assert loader.constant("batch_size") is ...


def test_a_constant_is_followed_to_where_it_is_set() -> None:
    """A name is as good as the number; what a parser gives is not known."""
    _, loader = _only("WORKERS = 0\nloader = DataLoader(data, batch_size=args.size, num_workers=WORKERS)")
    assert loader.constant("num_workers") == 0
    assert loader.constant("batch_size") is ...


def test_the_data_set_has_its_name() -> None:
    """The project's own class, where it is one, else the code that stands there."""
    own = "class Pictures(Dataset):\n    pass\nloader = DataLoader(Pictures())"
    assert _only(own)[1].dataset_words == "`Pictures`"
    assert _only("loader = DataLoader(make(3))")[1].dataset_words == "`make(3)`"
    assert _only("loader = DataLoader(**options)")[1].dataset_words == "the data set"


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("val_loader = DataLoader(data)", "val_loader"),
        ("def test_batches():\n    return DataLoader(data)", "test_batches"),
        ("def make():\n    evaluation = DataLoader(data)\n    return evaluation", "evaluation"),
    ],
)
def test_a_loader_is_called_after_its_variable_or_function(code: str, name: str) -> None:
    """Whether it evaluates, its name says."""
    assert named_for(_only(code)[1]) == name


@pytest.mark.parametrize(
    ("code", "is_stream"),
    [
        ("class S(IterableDataset):\n    pass\nloader = DataLoader(S())", True),
        ("class A(IterableDataset):\n    pass\nclass B(A):\n    pass\nloader = DataLoader(B())", True),
        ("loader = DataLoader(data, batch_size=None)", True),
        ("class M(Dataset):\n    pass\nloader = DataLoader(M(), batch_size=4)", False),
        ("loader = DataLoader(data)", False),
    ],
)
def test_a_stream_is_told_from_a_map(code: str, is_stream: bool) -> None:
    """By the class that it derives from, however far up, or by batches that it makes itself."""
    project, loader = _only(code)
    assert streams(project, loader) is is_stream


def test_loops_over_a_loader_are_found_through_wrappers() -> None:
    """Counting and progress bars give what they wrap; a loop over something else is none of its loops."""
    project, loader = _only(
        "from tqdm import tqdm\nloader = DataLoader(data)\nfor i, x in enumerate(tqdm(loader)):\n    pass\n"
        "for y in other:\n    pass\n"
    )
    assert {node.lineno for _, node in loops_over(project, loader)} == {5}


@pytest.mark.parametrize(
    "body",
    ["return self.x[i]", "return torch.tensor(self.x[i]), len(self.x)", "return self.x[i].long().unsqueeze(0)"],
)
def test_a_slice_of_what_lies_in_memory_costs_little(body: str) -> None:
    """Workers would only carry it about."""
    text = f"class D(Dataset):\n    def __getitem__(self, i):\n        {body}\nloader = DataLoader(D())"
    assert costs_little(*_only(text))


@pytest.mark.parametrize(
    "body", ["return Image.open(self.paths[i])", "return self.transform(self.x[i])", "return json.loads(self.lines[i])"]
)
def test_opening_decoding_and_transforming_cost(body: str) -> None:
    """Any call that is not known to take microseconds may take long."""
    text = f"class D(Dataset):\n    def __getitem__(self, i):\n        {body}\nloader = DataLoader(D())"
    assert not costs_little(*_only(text))


@pytest.mark.parametrize(
    ("given", "is_cheap"),
    [
        ("TensorDataset(torch.ones(9))", True),
        ("range(9)", True),
        ("torch.ones(9)", True),
        ("[1, 2, 3]", True),
        ("from_somewhere()", False),
    ],
)
def test_tensors_and_lists_cost_little_and_the_unknown_may_cost(given: str, is_cheap: bool) -> None:
    """Nobody knows what a library's data set does for a sample."""
    assert costs_little(*_only(f"loader = DataLoader({given})")) is is_cheap


@pytest.mark.parametrize(
    ("code", "count"),
    [
        ("from transformers import TrainingArguments\nTrainingArguments('out', dataloader_num_workers=0)", 1),
        ("from transformers import Seq2SeqTrainingArguments as A\nA('out')", 0),
        ("import transformers\ntransformers.Seq2SeqTrainingArguments('out')", 1),
        ("from trl import SFTConfig\nSFTConfig('out')", 1),
        ("class TrainingArguments:\n    pass\nTrainingArguments('out')", 0),
    ],
)
def test_settings_of_the_trainer_are_found(code: str, count: int) -> None:
    """Of transformers and trl, and not a class that is only called like theirs."""
    project, module = module_of(code)
    assert len(list(trainer_settings(module, project))) == count


def test_a_keyword_is_found_or_is_none() -> None:
    """The pair, so that a finding can point at it."""
    call = ast.parse("f(1, a=2)", mode="eval").body
    assert isinstance(call, ast.Call)
    found = keyword(call, "a")
    assert found is not None
    assert ast.unparse(found) == "a=2"
    assert keyword(call, "b") is None


def test_the_loader_behind_what_passes_its_batches_on_is_found() -> None:
    """Through a library's function and one of the project's."""
    text = (
        "from far import endless\ndef again(each):\n    while True:\n        yield from each\n"
        "loader = DataLoader(data)\nmine, theirs = again(loader), endless(loader)\n"
        "next(mine), next(theirs), next(other)\n"
    )
    project, module = module_of(HEAD + text)
    (made,) = loaders(module, project)
    found = [list(behind(project, module, call.args[0])) for call in module.calls_named("next")]
    assert [[each.call for each in several] for several in found] == [[made.call], [made.call], []]


@pytest.mark.parametrize(
    "code",
    [
        "class Mine(DataLoader):\n    def __iter__(self): return iter(())\nloader = Mine(data)",
        "class Mine(DataLoader):\n    def __init__(self, data):\n        super().__init__(data, num_workers=0)",
        "from torchdata.stateful_dataloader import StatefulDataLoader\nloader = StatefulDataLoader(data)",
        "from torch_geometric.loader import DataLoader as Graphs\nloader = Graphs(data)",
    ],
)
def test_classes_derived_from_a_loader_are_loaders(code: str) -> None:
    """Those of libraries, those of the project that add no arguments, and what others hand to their base."""
    _, loader = _only(code)
    data = loader.argument("dataset")
    assert isinstance(data, ast.Name)
    assert data.id == "data"


@pytest.mark.parametrize(
    ("use", "workers", "complete"),
    [
        ("loader = make(data)", ..., True),
        ("loader = make(data, num_workers=4)", 4, True),
        ("loader = make(data, **settings)", ..., False),
        ("register(make)", ..., False),
    ],
)
def test_a_partial_loader_has_what_its_calls_add(use: str, workers: object, *, complete: bool) -> None:
    """What `partial(DataLoader, …)` leaves out may be handed over later; where it goes elsewhere, nobody knows."""
    _, loader = _only(f"from functools import partial\nmake = partial(DataLoader, batch_size=8)\n{use}")
    assert loader.constant("num_workers") == workers
    assert loader.is_complete is complete


@pytest.mark.parametrize(
    ("use", "workers"), [("get(data)", 0), ("get(data, workers=4)", 4), ("get(data, *more)", ...), ("", ...)]
)
def test_an_argument_that_all_calls_leave_out_is_its_default(use: str, workers: object) -> None:
    """Where no call is seen, or one hides its arguments, nothing is known."""
    _, loader = _only(f"def get(data, workers=0):\n    return DataLoader(data, num_workers=workers)\n{use}")
    assert loader.constant("num_workers") == workers


def test_a_function_that_hands_its_keywords_on_makes_a_loader_where_it_is_called() -> None:
    """What it gives itself, its callers need not: it is not missing."""
    get = "def get_loader(data, **more):\n    return DataLoader(data, num_workers=8, **more)\n"
    project, module = module_of(HEAD + get + "loader = get_loader(data, batch_size=4)")
    inner, outer = loaders(module, project)
    assert outer.constant("batch_size") == 4
    assert outer.misses("pin_memory")
    assert not outer.misses("num_workers")
    assert not inner.misses("pin_memory")


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("def f(d):\n    o = {'num_workers': 2}\n    o['drop_last'] = True\n    return DataLoader(d, **o)\n", True),
        ("def f(d):\n    o = {'pin_memory': True}\n    return DataLoader(d, **o)\n", False),
        ("def f(d):\n    o = {'num_workers': 2}\n    o['pin_memory'] = True\n    return DataLoader(d, **o)\n", False),
        ("def f(d, x):\n    o = {'num_workers': 2}\n    o.update(x)\n    return DataLoader(d, **o)\n", False),
        ("def f(d, x):\n    o = {'num_workers': 2, **x}\n    return DataLoader(d, **o)\n", False),
        ("def f(d, x):\n    o = {'num_workers': 2}\n    o[x] = True\n    return DataLoader(d, **o)\n", False),
        ("def f(d, o):\n    return DataLoader(d, **o)\n", False),
        ("def f(d):\n    return DataLoader(d, **{'num_workers': 2})\n", True),
        ("def f(d, x):\n    o = {'num_workers': 2} if x else {}\n    return DataLoader(d, **o)\n", True),
        ("def f(d, x):\n    o = {'num_workers': 2} if x else x\n    return DataLoader(d, **o)\n", False),
    ],
)
def test_a_dict_that_the_code_writes_out_hides_nothing(text: str, missing: bool) -> None:
    """What is unpacked is known where the code says all of it; else anything may be in it."""
    _, loader = _only(text)
    assert loader.misses("pin_memory") is missing


def test_classes_that_hand_their_keywords_on_are_loaders_too() -> None:
    """A class derived from a loader has what it is handed, and what it hands on itself."""
    text = """
class BoxLoader(DataLoader):
    def __init__(self, dataset, **options):
        super().__init__(dataset, collate_fn=list, pin_memory=True, **options)

def make(data):
    return BoxLoader(data, shuffle=True)
"""
    project, module = module_of(HEAD + text)
    made = [each for each in loaders(module, project) if ast.unparse(each.call.func) == "BoxLoader"]
    assert [(each.misses("num_workers"), each.misses("pin_memory")) for each in made] == [(True, False)]


def test_parts_of_a_data_set_are_no_lists() -> None:
    """What a split gives may cost as much as the whole did; a list of numbers in the code costs nothing."""
    for text, cheap in (
        ("from torch.utils.data import random_split\na, b = random_split(thing, [8, 2])\nDataLoader(a)\n", False),
        ("DataLoader([1.0, 2.0])\n", True),
    ):
        project, loader = _only(text)
        assert costs_little(project, loader) is cheap
