"""Loops that train and evaluate are found, with all that their turns run, and how seldom."""

import ast

import pytest

from flyball_audit.guards import Rarity, guards
from flyball_audit.module import last_name
from tests.audit.projects import module_of, project_of

STEP = "loss = model(batch).mean(); loss.backward(); optimizer.step(); optimizer.zero_grad()"


def test_the_innermost_loop_with_backward_and_step_trains() -> None:
    """Epochs are no steps, micro-steps belong to their step."""
    project, module = module_of(
        f"""
        import torch
        def train(model, loader, optimizer):
            for epoch in range(3):
                for batch in loader:
                    {STEP}
            for _ in range(100):
                for micro in range(4):
                    model(next(loader)).mean().backward()
                optimizer.step()
        """
    )
    assert [each.node.lineno for each in project.loops.training_of(module)] == [5, 7]


def test_steps_are_found_through_functions_methods_and_closures() -> None:
    """A loop trains whose backward pass and step stand in what it calls, in another file too."""
    project = project_of(
        {
            "engine.py": f"class Engine:\n    def update(self, model, batch, optimizer):\n        {STEP}\n",
            "train.py": "import torch\nfrom engine import Engine\n\n"
            "def main(loader, model, optimizer):\n    engine = Engine()\n"
            "    for batch in loader:\n        engine.update(model, batch, optimizer)\n"
            "    def closure():\n        loss = model(0)\n        loss.backward()\n        return loss\n"
            "    for _ in range(3):\n        optimizer.step(closure)\n",
        }
    )
    found = [(each.module.name, each.node.lineno) for each in project.loops.training]
    assert found == [("train", 6), ("train", 12)]
    regions = project.loops.regions(project.loops.training[0])
    assert {each.module.name for each in regions} == {"train", "engine"}


def test_frameworks_call_hooks() -> None:
    """Lightning's `training_step` is a turn, and so is `validation_step`, of evaluation."""
    project, _ = module_of(
        """
        import lightning as L
        class Net(L.LightningModule):
            def training_step(self, batch, _):
                return self(batch)
            def validation_step(self, batch, _):
                self(batch)
        """
    )
    assert [(each.hook_of, each.node.lineno) for each in project.loops.training] == [("lightning", 4)]
    assert [each.node.lineno for each in project.loops.evaluation] == [6]


@pytest.mark.parametrize(
    ("calls", "trains"),
    [
        ("schedule.zero_grad(); loss.backward(); schedule.step_and_update_lr()", True),
        ("schedule.zero_grad(); loss.backward(); schedule.step()", True),
        ("optimizer.zero_grad(); loss.backward(); schedule.step_and_update_lr()", False),
        ("loss.backward(); schedule.step()", False),
        ("schedule.zero_grad(); schedule.step_and_update_lr()", False),
    ],
)
def test_what_empties_gradients_and_steps_wraps_an_optimizer(calls: str, trains: bool) -> None:
    """Whatever it is called, and though its class is not at hand; a scheduler empties nothing."""
    project, module = module_of(
        f"import torch\nfrom far import Schedule\ndef train(model, loader, optimizer):\n"
        f"    schedule = Schedule(optimizer)\n    for batch in loader:\n        loss = model(batch)\n        {calls}\n"
    )
    assert bool(list(project.loops.training_of(module))) is trains


def test_other_frameworks_loops_are_left_alone() -> None:
    """Code of Paddle looks alike and means something else."""
    project, _ = module_of(f"import paddle\nfor batch in loader:\n    {STEP}\n")
    assert project.loops.training == ()


@pytest.mark.parametrize(
    ("test", "rarity"),
    [
        ("step % 10 == 0", Rarity.PERIODIC),
        ("not step % 10", Rarity.PERIODIC),
        ("(step + 1) % args.log_every == 0", Rarity.PERIODIC),
        ("step % 10 == 0 and rank == 0", Rarity.PERIODIC),
        ("step % 10", Rarity.OTHER),
        ("step in checkpoints", Rarity.PERIODIC),
        ("(step + 1) in self.checkpoints", Rarity.PERIODIC),
        ("step % 10 in checkpoints", Rarity.PERIODIC),
        ("step not in checkpoints", Rarity.OTHER),
        ("step in range(given)", Rarity.OTHER),
        ("word in checkpoints", Rarity.OTHER),
        ("step % 1 == 0", Rarity.OTHER),
        ("(step + 1) % accumulation == 0", Rarity.ACCUMULATED),
        ("accelerator.sync_gradients", Rarity.ACCUMULATED),
        ("rank == 0", Rarity.RANK),
        ("accelerator.is_main_process", Rarity.RANK),
        ("args.debug", Rarity.RARE),
        ("should_log", Rarity.PERIODIC),
        ("torch.isnan(value).any()", Rarity.RARE),
        ("not torch.isfinite(value)", Rarity.RARE),
        ("torch.isfinite(value)", Rarity.OTHER),
        ("args.clip", Rarity.CONFIG),
        ("scaler is not None", Rarity.CONFIG),
        ("value > 3", Rarity.OTHER),
        ("step == 0", Rarity.RARE),
        ("step % 10 == 0 or value > 3", Rarity.OTHER),
        ("step % 10 == 0 or step + 1 == len(loader)", Rarity.PERIODIC),
        ("(step + 1) % accumulation == 0 or step + 1 == len(loader)", Rarity.ACCUMULATED),
        ("time.time() - last > 30", Rarity.PERIODIC),
    ],
)
def test_conditions_thin_out_what_they_guard(test: str, rarity: Rarity) -> None:
    """How seldom a guarded node runs follows from its condition, also where the loop goes on before it."""
    guarded = (
        f"import torch, time\ndef train(loader, model, optimizer):\n    for step, batch in loader:\n        {STEP}\n"
    )
    project, module = module_of(f"{guarded}        if {test}:\n            mark()\n")
    turns = next(project.loops.training_of(module))
    call = next(each for each in module.all(ast.Call) if last_name(each) == "mark")
    assert turns.region.rarity(call) is rarity
    project, module = module_of(f"{guarded}        if not ({test}):\n            continue\n        mark()\n")
    turns = next(project.loops.training_of(module))
    call = next(each for each in module.all(ast.Call) if last_name(each) == "mark")
    expected = None if rarity is Rarity.OTHER else rarity  # what goes on before is the exception, as far as is known
    assert turns.region.rarity(call) is expected


@pytest.mark.parametrize(
    ("test", "body"),
    [
        ("self.mask is None", "self.mask = mark()"),
        ("not exists(self.mean)", "self.mean = mark()"),
        ("not self.table", "self.table = mark()"),
        ("not hasattr(self, 'mask')", "self.mask = mark()"),
        ("size not in self.masks", "self.masks[size] = mark()"),
    ],
)
def test_what_is_filled_once_is_rare(test: str, body: str) -> None:
    """A body that makes what its condition misses does not run again; one that makes something else may."""
    for made, rare in ((body, True), ("other = mark()", False)):
        _, module = module_of(f"def step(self, size):\n    if {test}:\n        {made}\n")
        function = module.functions[0]
        call = next(each for each in module.all(ast.Call) if last_name(each) == "mark")
        assert (Rarity.RARE in {each.rarity for each in guards(module, call, function)}) is rare


def test_the_rest_of_a_function_that_other_ranks_leave_runs_on_one() -> None:
    """`if rank != 0: return` is `if rank == 0:` for what follows."""
    _, module = module_of("def step(rank):\n    if rank != 0:\n        return\n    mark()\n")
    call = next(each for each in module.all(ast.Call) if last_name(each) == "mark")
    assert [each.rarity for each in guards(module, call, module.functions[0])] == [Rarity.RANK]


def test_loops_over_parameters_and_micro_steps_are_known() -> None:
    """A norm for each parameter, and a read in each micro-step, run many times a step."""
    project, module = module_of(
        """
        import torch
        def train(model, loader, optimizer):
            for batch in loader:
                for micro in batch:
                    loss = model(micro).mean()
                    loss.backward()
                    in_micro()
                norms = [over(p.grad) for p in model.parameters()]
                for name, p in model.named_parameters():
                    over(p)
                optimizer.step()
        """
    )
    turns = next(project.loops.training_of(module))
    calls = {last_name(each): each for each in turns.region.all(ast.Call)}
    assert project.loops.is_micro(turns.region, calls["in_micro"])
    over = [each for each in turns.region.all(ast.Call) if last_name(each) == "over"]
    assert [project.loops.is_over_parameters(turns.region, each) for each in over] == [True, True]


def test_a_flag_that_is_made_of_itself_ends_there() -> None:
    """`due = due and step % 10 == 0` asks what `due` was above, not the same line again."""
    _, module = module_of(
        "due = flag\nfor step in steps:\n    due = due and other\n    due = (\n        due\n        or step\n    )\n"
        "    if due:\n        work()\n"
    )
    (call,) = module.all(ast.Call)
    assert [each.rarity for each in guards(module, call, module.loops[0])] == [Rarity.CONFIG]


@pytest.mark.parametrize(
    ("before", "found"), [("model.eval()", 1), ("model.train(False)", 1), ("model.eval()\nmodel.train()", 0), ("", 0)]
)
def test_a_loop_behind_a_switch_to_evaluation_evaluates(before: str, found: int) -> None:
    """Whatever its name and its data's: nothing is trained there."""
    text = (
        "import torch\nmodel = torch.nn.Linear(2, 2)\ndef run(loader):\n"
        + "".join(f"    {line}\n" for line in before.split("\n") if line)
        + "    for x in loader:\n        y = model(x)\n"
    )
    project, _ = module_of(text)
    assert len(project.loops.evaluation) == found
