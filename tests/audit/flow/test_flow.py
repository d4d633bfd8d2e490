"""Values are followed through assignments, containers, attributes, calls, branches and loops."""

import ast

import pytest

from flyball_audit.flow import statements
from flyball_audit.flow.values import Tag, Value, flat
from tests.audit.projects import module_of, project_of, value_of

HEAD = """
import torch
from torch import nn
import torch.nn.functional as F

model = nn.Linear(2, 2).cuda()
loss = F.mse_loss(model(x.cuda()), y.cuda())
"""


@pytest.mark.parametrize(
    ("code", "there"),
    [
        ("loss", True), ("loss.detach()", True), ("loss / 4", True), ("0.5 * loss", True),
        ("loss.item()", False), ("float(loss)", False), ("loss.cpu()", False), ("loss.to('cpu')", False),
        ("loss.shape", False), ("loss.dtype", False), ("(loss, 1)[0]", True), ("{'a': loss}['a']", True),
        ("[loss][0]", True), ("loss if flag else 0", True), ("torch.stack([loss, loss])", True),
        ("torch.zeros(3)", False), ("torch.zeros(3, device='cuda')", True),
        ("torch.zeros(3, device='cpu')", False), ("model.parameters()", False), ("len(loss)", False),
        ("loss is None", False), ("loss > 3", True), ("sum([loss, loss])", True), ("model.state_dict()", False),
        ("next(iter(model.parameters()))", True), ("max(loss, loss)", True),
        ("[each for each in (loss, loss)][0]", True), ("(lambda value: value)(loss)", True),
        ("f'{loss}'", False), ("isinstance(loss, torch.Tensor)", False),
        ("torch.cuda.memory_allocated()", False),
    ],
)  # fmt: skip
def test_an_expression_is_known_to_lie_on_the_device_or_not(code: str, there: bool) -> None:
    """What is computed from the loss stays on the device until it is read."""
    project, module = module_of(f"{HEAD}\nresult = {code}\nresult\n")
    assert value_of(project, module, "result").on_device is there


def test_names_may_be_given_anew() -> None:
    """A variable is what it was given last: a number after `loss = loss.item()`."""
    project, module = module_of(f"{HEAD}\nloss = loss.item()\nprint(loss)\n")
    assert value_of(project, module, "loss").tags == {Tag.HOST}


def test_branches_are_joined_and_returns_end_them() -> None:
    """After an `if`, a variable is either; a branch that returned does not count."""
    project, module = module_of(
        f"""{HEAD}
def choose(flag, other):
    kept = loss
    if flag:
        kept = 1.0
    only = loss
    if other:
        only = 1.0
        return only
    return kept, only
"""
    )
    assert value_of(project, module, "kept").tags >= {Tag.HOST, Tag.DEVICE}
    assert Tag.HOST not in value_of(project, module, "(kept, only)").items[1].tags  # type: ignore[index]  # a tuple


def test_what_a_loop_leaves_behind_is_seen_in_its_next_turn() -> None:
    """A sum that begins as a number is on the device from the second turn on."""
    project, module = module_of(f"{HEAD}\ntotal = 0\nfor _ in range(3):\n    print(total)\n    total += loss\n")
    assert value_of(project, module, "total").has(Tag.DEVICE)


def test_attributes_are_followed_through_methods_and_classes() -> None:
    """What `__init__` is handed is what the methods use, inherited ones too."""
    project, module = module_of(
        f"""{HEAD}
class Base:
    def __init__(self, net, rate):
        self.net, self.rate = net, rate

class Runner(Base):
    def score(self, batch):
        return self.net(batch)

    @property
    def speed(self):
        return self.rate

runner = Runner(model, 0.1)
scored = runner.score(x)
scored
runner.speed
"""
    )
    assert value_of(project, module, "scored").has(Tag.DEVICE, Tag.OUTPUT)
    assert value_of(project, module, "runner.speed").tags == {Tag.HOST}


def test_functions_of_other_modules_are_followed_each_call_by_itself() -> None:
    """One helper gives a tensor for a tensor and a number for a number."""
    project = project_of({
        "tools.py": "def half(value):\n    return value / 2\n\ndef read(value):\n    return value.item()\n",
        "train.py": f"from tools import half, read\n{HEAD}\na = half(loss)\nb = half(3.0)\nc = read(loss)\n(a, b, c)\n",
    })  # fmt: skip
    found = value_of(project, project.modules["train"], "(a, b, c)").items
    assert found is not None
    assert [each.on_device for each in found] == [True, False, False]
    assert found[1].tags == {Tag.HOST}


def test_recursion_ends() -> None:
    """Functions that call themselves or each other, with ever new arguments, give an answer."""
    project, module = module_of(
        "def f(x):\n    return g((x, x))\n\ndef g(x):\n    return f([x])\n\nresult = f(1)\nresult\n"
    )
    assert isinstance(value_of(project, module, "result"), Value)


def test_what_libraries_wrap_stays_what_it_was() -> None:
    """Accelerate, DeepSpeed, DDP and compile give back models, loaders and optimizers."""
    project, module = module_of(
        """
        import torch, deepspeed
        from accelerate import Accelerator
        from torch.nn.parallel import DistributedDataParallel as DDP
        accelerator = Accelerator()
        model = torch.compile(DDP(torch.nn.Linear(2, 2)))
        optimizer = torch.optim.AdamW(model.parameters())
        loader = torch.utils.data.DataLoader(data)
        model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
        for batch in loader:
            out = model(batch)
            out
        engine, _, _, _ = deepspeed.initialize(model=model)
        engine
        """
    )
    assert value_of(project, module, "out").on_device
    assert value_of(project, module, "batch").has(Tag.BATCH, Tag.DEVICE)
    assert value_of(project, module, "optimizer").has(Tag.OPTIMIZER)
    assert value_of(project, module, "engine").has(Tag.ENGINE, Tag.MODEL)


def test_history_is_off_where_the_code_says_so() -> None:
    """Outputs under `no_grad` carry no history; outside they do."""
    project, module = module_of(
        f"{HEAD}\nwith torch.no_grad():\n    quiet = model(x)\nloud = model(x)\n(quiet, loud)\n"
    )
    found = value_of(project, module, "(quiet, loud)").items
    assert found is not None
    assert [each.has(Tag.GRAPH) for each in found] == [False, True]


def test_a_name_whose_backward_is_called_is_a_loss() -> None:
    """Whatever made it, what is differentiated is a loss on the device."""
    project, module = module_of(
        "import torch\nfrom mystery import compute\nerror = compute()\nerror.backward()\nerror\n"
    )
    assert value_of(project, module, "error").has(Tag.LOSS, Tag.DEVICE, Tag.GRAPH)


def test_values_do_not_grow_without_end() -> None:
    """Containers in containers are told apart to a depth only."""
    value = Value()
    for _ in range(50):
        value = flat(Value(items=(value, value)))
    assert len(repr(value)) < 10_000


def test_what_may_be_missing_is_still_what_it_is() -> None:
    """An attribute that some way leaves None is used where it is not: what is done with it is done with the object."""
    project, module = module_of(
        f"""{HEAD}
class Client:
    def ask(self): return 1

class Runner:
    def __init__(self, flag):
        if flag:
            self.client = Client()
        else:
            self.client = None

    def work(self):
        return self.client.ask()
"""
    )
    (call,) = [each for each in module.all(ast.Call) if ast.unparse(each) == "self.client.ask()"]
    assert [getattr(each.node, "name", "") for each in project.flow.callees(module, call)] == ["ask"]


def test_who_asks_first_does_not_matter() -> None:
    """A function that was followed before its caller came to the call is followed anew when it is asked for again."""
    project, module = module_of(
        f"""{HEAD}
class Runner:
    def start(self):
        print(self.kept)
        self.helper(loss)

    def helper(self, value):
        self.kept = value
        return value
"""
    )
    value_of(project, module, "self.kept")  # in `start`, which asks what `helper` stores
    assert value_of(project, module, "value").has(Tag.DEVICE)


def test_a_failure_on_the_way_leaves_the_next_question_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """What fails while one rule asks is not unknown to the next one."""
    project, module = module_of(HEAD)
    with monkeypatch.context() as broken:
        broken.setattr(statements, "assign", None)
        with pytest.raises(TypeError):
            value_of(project, module, "loss")
    assert value_of(project, module, "loss").has(Tag.LOSS)


@pytest.mark.parametrize(
    ("code", "there"),
    [
        ("batch['images']", True), ("batch['text']", False), ("batch['source_name']", False),
        ("batch.labels", True), ("batch.dataset_names", False), ("batch.sid", False), ("batch.input_ids", True),
    ],
)  # fmt: skip
def test_texts_of_a_batch_that_is_moved_are_no_tensors(code: str, there: bool) -> None:
    """Their names tell them; what else a batch holds lies where it lies."""
    loop = "from torch.utils.data import DataLoader\nfor batch in DataLoader(data):\n    batch = batch.to('cuda')\n"
    project, module = module_of(f"{HEAD}{loop}    result = {code}\n    result\n")
    assert value_of(project, module, "result").on_device is there


def test_what_may_be_none_is_what_else_it_may_be() -> None:
    """A loader that some runs do not have is a loader, made where it was made; a constant is not the same in all."""
    text = "from torch.utils.data import DataLoader\nloader = DataLoader(data) if data else None\nloader\n"
    project, module = module_of(text)
    value = value_of(project, module, "loader")
    assert value.tags == {Tag.LOADER}
    assert value.made_at is not None
    project, module = module_of("size = 4 if data else None\nsize\n")
    assert value_of(project, module, "size").literal is None


def test_a_stream_of_batches_tells_where_its_loader_was_made() -> None:
    """Behind `enumerate`, `zip` and progress bars, also in variables."""
    text = """
        from torch.utils.data import DataLoader
        from tqdm import tqdm
        loader = DataLoader(data)
        numbered = tqdm(enumerate(loader), total=3)
        paired = zip(loader, names)
        numbered, paired
        """
    project, module = module_of(text)
    for name in ("numbered", "paired"):
        made_at = value_of(project, module, name).made_at
        assert made_at is not None
        assert ast.unparse(made_at[1]) == "DataLoader(data)"


def test_a_count_that_a_model_gives_is_no_tensor() -> None:
    """Its loss is."""
    project, module = module_of(f"{HEAD}\nvalue, sample_count = model(x)\nvalue, sample_count\n")
    assert value_of(project, module, "value").on_device
    assert not value_of(project, module, "sample_count").tags


def test_what_is_handed_over_without_a_name_is_known() -> None:
    """`*values` holds what all calls put there; a type that is asked for by `*` may be one that is converted to."""
    text = f"""{HEAD}
def add(*values):
    return [each for each in values]
add(loss, 3)
convert = lambda x, *args: x.type(*args)
converted = convert(loss, torch.int64)
converted
"""
    project, module = module_of(text)
    assert value_of(project, module, "each").on_device
    assert value_of(project, module, "converted").on_device
