"""Steps of a training are found by the steps of its optimizers."""

import sys
import threading

import pytest

from flyball.hooks import steps as steps_module
from flyball.hooks.steps import OptimizerSteps
from flyball.training.opening import run
from tests.client.hooks.reports import Reports, last_step, total


class Optimizer:
    """Something that steps. The hooks look at its identity only."""


def step(steps: OptimizerSteps, *optimizers: Optimizer, closure: object = None) -> None:
    """Step optimizers as torch does, one after the other."""
    for optimizer in optimizers:
        words = (optimizer,) if closure is None else (optimizer, closure)
        steps.before_optimizer(optimizer, words, {})
        steps.after_optimizer(optimizer, words, {})


def finish(steps: OptimizerSteps) -> None:
    """Send the last report."""
    assert steps.run is not None
    steps.run.finish()


def test_each_step_of_the_optimizer_is_a_step(reports: Reports) -> None:
    """The run has the name of the environment, cannot be adjusted, and counts from the first step."""
    steps, optimizer = OptimizerSteps(), Optimizer()
    for _ in range(5):
        step(steps, optimizer)
    finish(steps)
    (lines,) = reports.runs()
    assert (lines[0]["kind"], lines[0]["run"], lines[0]["policy"]) == ("hello", "hooked", "off")
    assert last_step(lines) == 5
    assert total(lines, "steps") == 4  # the first one starts the clock
    assert lines[-1]["kind"] == "goodbye"
    assert 0 < total(lines, "forward_backward") + total(lines, "optimizer") <= total(lines, "step_seconds")


@pytest.mark.parametrize(("chosen", "policy"), [("ask", "ask"), ("auto", "auto"), ("off", "off"), ("yes", "off")])
def test_the_command_line_decides_what_may_be_adjusted(
    reports: Reports, monkeypatch: pytest.MonkeyPatch, chosen: str, policy: str
) -> None:
    """A word that is not understood allows nothing."""
    monkeypatch.setenv("FLYBALL_POLICY", chosen)
    steps = OptimizerSteps()
    step(steps, Optimizer())
    finish(steps)
    assert reports.runs()[0][0]["policy"] == policy


@pytest.mark.parametrize("count", [2, 5, 100])
def test_optimizers_that_step_together_are_one_step(reports: Reports, count: int) -> None:
    """Those of a generator and its discriminator, or one for each parameter."""
    steps, optimizers = OptimizerSteps(), [Optimizer() for _ in range(count)]
    for _ in range(10):
        step(steps, *optimizers)
    finish(steps)
    assert last_step(reports.runs()[0]) == 10


def test_the_optimizer_that_steps_most_leads(reports: Reports) -> None:
    """A generator that steps first, and once for five steps of its discriminator, does not hide these."""
    steps, generator, discriminator = OptimizerSteps(), Optimizer(), Optimizer()
    for _ in range(10):
        step(steps, generator, *[discriminator] * 5)
    finish(steps)
    assert last_step(reports.runs()[0]) == 1 + 49  # its first step is not known to be one


def test_a_new_optimizer_takes_over(reports: Reports) -> None:
    """The second phase of a training has its own; one step passes until that is certain."""
    steps, first, second = OptimizerSteps(), Optimizer(), Optimizer()
    step(steps, *[first] * 5)
    step(steps, *[second] * 5)
    finish(steps)
    assert last_step(reports.runs()[0]) == 5 + 4


def test_a_closure_is_not_counted_as_the_optimizer(reports: Reports) -> None:
    """With a closure, forward and backward pass happen inside of the optimizer's step, as with Lightning or LBFGS."""
    steps, optimizer = OptimizerSteps(), Optimizer()
    for _ in range(3):
        step(steps, optimizer, closure=lambda: 1.0)
    finish(steps)
    (lines,) = reports.runs()
    assert total(lines, "compute") > 0
    assert total(lines, "optimizer") == total(lines, "forward_backward") == 0


def test_an_engine_counts_as_one_step(reports: Reports) -> None:
    """While it steps its optimizers, these are not counted."""
    steps, engine, optimizer = OptimizerSteps(), Optimizer(), Optimizer()
    for _ in range(4):
        steps.held = True
        step(steps, *[optimizer] * 3)
        steps.held = False
        steps.after_engine(engine)
    finish(steps)
    assert last_step(reports.runs()[0]) == 4


def test_the_scripts_own_run_takes_over(reports: Reports) -> None:
    """The hooks end their run, and never open another one."""
    steps, optimizer = OptimizerSteps(), Optimizer()
    step(steps, *[optimizer] * 3)
    own = run("own")
    step(steps, *[optimizer] * 3)
    own.finish()
    step(steps, *[optimizer] * 3)
    hooked, mine = reports.runs()
    assert (last_step(hooked), hooked[-1]["kind"]) == (3, "goodbye")
    assert (mine[0]["run"], last_step(mine)) == ("own", 0)


def test_a_run_of_the_script_that_is_open_already_stays_alone(reports: Reports) -> None:
    """The hooks open none beside it."""
    own = run("own")
    steps, optimizer = OptimizerSteps(), Optimizer()
    step(steps, *[optimizer] * 3)
    own.finish()
    assert steps.run is None
    assert [lines[0]["run"] for lines in reports.runs()] == ["own"]


def test_a_process_without_steps_reports_nothing(reports: Reports) -> None:
    """A launcher or a helper process is not a rank."""
    steps = OptimizerSteps()
    assert steps.measured_run() is None
    assert reports.runs() == []


def test_a_worker_of_a_loader_is_not_a_rank(reports: Reports, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even if its data set trains something."""
    worker = type(steps_module)("torch.utils.data._utils.worker")
    worker.__dict__["_worker_info"] = object()
    monkeypatch.setitem(sys.modules, worker.__name__, worker)
    step(OptimizerSteps(), Optimizer())
    assert reports.runs() == []


@pytest.mark.usefixtures("reports")
def test_only_one_thread_trains(monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps of another thread count only if the first one has not stepped for seconds."""
    steps, optimizer = OptimizerSteps(), Optimizer()
    step(steps, *[optimizer] * 2)

    def elsewhere() -> None:
        step(steps, *[optimizer] * 2)

    for _ in range(2):
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        assert steps.run is not None
        if steps.run.last_step == 2:
            monkeypatch.setattr(steps_module, "_ADOPT_AFTER_NS", 0)
    assert steps.run is not None
    assert steps.run.last_step == 4
    finish(steps)


def test_the_number_of_steps_comes_from_the_command_or_the_framework(
    reports: Reports, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command line comes first; a framework that fails to answer leaves it unknown."""

    def fail() -> tuple[int | None, int]:
        raise RuntimeError

    def resumed() -> tuple[int | None, int]:
        return 70, 20

    for chosen, of_framework, expected in (("", resumed, 70), ("30", resumed, 30), ("", fail, None)):
        monkeypatch.setenv("FLYBALL_TOTAL_STEPS", chosen)
        steps = OptimizerSteps()
        steps.progress = of_framework
        step(steps, Optimizer())
        finish(steps)
        assert steps.run is not None
        assert steps.run.total_steps == expected
        assert steps.run.last_step == (1 if of_framework is fail else 21)
    assert [lines[0].get("total_steps") for lines in reports.runs()] == [70, 30, None]


def test_a_failure_is_counted_and_ends_the_reports(reports: Reports, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a hundred failures the hooks are idle; the training sees none of them."""
    steps, optimizer = OptimizerSteps(), Optimizer()
    step(steps, optimizer)
    monkeypatch.setattr(OptimizerSteps, "_stepped", None)
    step(steps, *[optimizer] * 150)
    assert steps.failures >= 100
    assert steps.run is None
    assert last_step(reports.runs()[0]) <= 1


def test_nothing_happens_while_a_graph_is_compiled(reports: Reports, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dynamo takes the condition for true, so that the hooks leave no trace in its graphs."""
    monkeypatch.setattr(steps_module, "_is_compiling", lambda: True)
    step(OptimizerSteps(), Optimizer())
    assert reports.runs() == []
