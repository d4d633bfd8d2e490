"""What a library's own loop calls for each batch."""

import pytest

from flyball_audit.hooks import hooks
from tests.audit.projects import module_of


@pytest.mark.parametrize(
    ("base", "method", "framework", "trains"),
    [
        ("lightning.LightningModule", "training_step", "lightning", True),
        ("lightning.LightningModule", "validation_step", "lightning", False),
        ("lightning.pytorch.callbacks.Callback", "on_train_batch_end", "callback", True),
        ("transformers.Trainer", "compute_loss", "transformers", True),
        ("transformers.TrainerCallback", "on_step_end", "callback", True),
        ("fastai.callback.core.Callback", "after_loss", "fastai", True),
        ("mmengine.hooks.Hook", "after_train_iter", "mmengine", True),
        ("mmengine.hooks.Hook", "after_val_iter", "mmengine", False),
        ("catalyst.dl.Runner", "handle_batch", "catalyst", True),
        ("composer.core.Callback", "batch_end", "composer", True),
        ("detectron2.engine.HookBase", "after_step", "detectron2", True),
        ("fairseq.tasks.FairseqTask", "train_step", "fairseq", True),
    ],
)
def test_a_method_of_a_librarys_class_is_a_hook(base: str, method: str, framework: str, trains: bool) -> None:
    """By the full name of the class that its own derives from, in the project or out of it."""
    root = base.partition(".")[0]
    project, module = module_of(
        f"import {root}\nclass Own({base}):\n    pass\nclass Heir(Own):\n    def {method}(self, x):\n        pass\n"
        f"class Other:\n    def {method}(self, x):\n        pass\n"
    )
    assert [(each.node.lineno, each.framework, each.trains) for each in hooks(project, module)] == [
        (5, framework, trains)
    ]


def test_what_a_library_calls_each_epoch_is_no_hook() -> None:
    """Only what runs for each batch is."""
    project, module = module_of(
        "import lightning\nclass Net(lightning.LightningModule):\n    def on_train_epoch_end(self):\n        pass\n"
    )
    assert list(hooks(project, module)) == []


def test_ignites_handlers_of_iterations_are_hooks() -> None:
    """Under `on`, or added to the event; not those of every so many, nor of epochs; evaluators' do not train."""
    project, module = module_of(
        """
        from ignite.engine import Events
        def attach(trainer, evaluator):
            @trainer.on(Events.ITERATION_COMPLETED)
            def one(engine): ...
            @trainer.on(Events.ITERATION_COMPLETED(every=10))
            def seldom(engine): ...
            @evaluator.on(Events.ITERATION_STARTED)
            def two(engine): ...
            def three(engine): ...
            def four(engine): ...
            trainer.add_event_handler(Events.ITERATION_COMPLETED, three)
            trainer.add_event_handler(Events.EPOCH_COMPLETED, four)
        """
    )
    found = {each.node.name: each.trains for each in hooks(project, module)}
    assert found == {"one": True, "two": False, "three": True}
