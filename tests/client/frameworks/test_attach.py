"""Test what `flyball.attach` refuses, without any framework."""

import subprocess
import sys
import warnings

import pytest

import flyball


class Loop:
    """Something of the user's own."""


def made_by(package: str) -> object:
    """Return an object whose class comes from a package that is not imported."""
    return type("Model", (), {"__module__": f"{package}.models"})()


def test_something_else_is_refused_with_a_warning_that_helps() -> None:
    """The warning names the class and what is possible, and the run that is returned measures nothing."""
    with pytest.warns(UserWarning, match=r"cannot attach to .*Loop: expected a Trainer of transformers or Lightning"):
        run = flyball.attach(Loop(), run="mine")
    assert (run.name, run.finished) == ("mine", True)
    run.step(tokens=5)  # harmless
    assert not run.connected


def test_the_warning_shows_the_line_of_the_script() -> None:
    """The warning points to the line with `attach`, not into the client."""
    with pytest.warns(UserWarning, match="cannot attach to builtins.NoneType") as caught:
        flyball.attach(None)
    assert [each.filename for each in caught] == [__file__]


@pytest.mark.parametrize(
    ("package", "hint"),
    [
        ("keras", "examples/training/keras_fit.py"),
        ("accelerate", "examples/training/accelerate_loop.py"),
        ("flax", "examples/training/jax_loop.py"),
        ("torch", "report the loop with flyball.run"),
    ],
)
def test_for_other_frameworks_the_warning_leads_to_an_example(package: str, hint: str) -> None:
    """The warning names the example, or the way, for an object that has no hooks."""
    with pytest.warns(UserWarning, match=hint):
        flyball.attach(made_by(package))


def test_an_unknown_option_is_reported_and_dropped() -> None:
    """A misspelled option is named together with the known ones."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run = flyball.attach(Loop(), run="mine", total_step=5)
    first, *_ = [str(each.message) for each in caught]
    assert first.startswith("flyball.attach: there is no option total_step. Options: total_steps, total_samples, ")
    assert run.total_steps is None


def test_a_run_of_the_caller_stays_open() -> None:
    """If the target is refused, the script can go on to use its run."""
    with flyball.run("own") as run:
        with pytest.warns(UserWarning, match="cannot attach"):
            attached = flyball.attach(Loop(), run=run)
        assert attached is run
        assert not run.finished


def test_nothing_is_raised_where_warnings_are_errors() -> None:
    """A training that runs with `-W error` goes on, too."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert flyball.attach(Loop(), run="mine").finished


def test_a_target_that_breaks_is_refused() -> None:
    """A trainer of a version whose parts are elsewhere gives a warning with the reason."""
    broken = type("DeepSpeedEngine", (), {"__module__": "deepspeed.runtime.engine"})()
    with pytest.warns(UserWarning, match="DeepSpeedEngine cannot report: AttributeError"):
        flyball.attach(broken)


def test_attach_imports_no_framework() -> None:
    """Refusing an object imports neither torch nor a framework."""
    script = (
        "import sys, warnings, flyball; warnings.simplefilter('ignore'); flyball.attach(object());"
        "print(sorted({'torch', 'transformers', 'lightning', 'pytorch_lightning', 'numpy'} & set(sys.modules)))"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == "[]"


def test_lightning_is_a_module_of_the_package() -> None:
    """`flyball.lightning` is there after `import flyball` alone, and knows no other name than Callback."""
    assert flyball.lightning.__name__ == "flyball.lightning"
    with pytest.raises(AttributeError, match="has no attribute 'Watcher'"):
        flyball.lightning.Watcher  # noqa: B018  the access itself is tested
