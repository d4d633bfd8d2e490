"""Callbacks and hooks of libraries, which run after each batch."""

from fastai.callback.core import Callback
from ignite.engine import Events
from mmengine.hooks import Hook
from transformers import TrainerCallback


class Smooth(Callback):
    def before_fit(self):
        self.curve = []

    def after_loss(self):
        self.curve.append(self.learn.loss.item())  # expect: sync-every-step@note

    def after_epoch(self):
        print(self.learn.loss.item())


class Watch(Hook):
    def after_train_iter(self, runner, batch_idx, data_batch=None, outputs=None):
        seen = outputs["loss"].item()  # expect: sync-every-step@note
        runner.message_hub.update_scalar("seen", seen)

    def after_train_epoch(self, runner):
        runner.logger.info(runner.model.head.weight.abs().max().item())


class Probe(TrainerCallback):
    def on_step_end(self, args, state, control, model=None, **kwargs):
        self.last = model.lm_head.weight.grad.norm().item()  # expect: sync-every-step@note

    def on_epoch_end(self, args, state, control, model=None, **kwargs):
        self.final = model.lm_head.weight.norm().item()


def attach(trainer, evaluator, curve):
    @trainer.on(Events.ITERATION_COMPLETED)
    def keep(engine):
        curve.append(engine.state.output["loss"].item())  # expect: sync-every-step@note

    @trainer.on(Events.ITERATION_COMPLETED(every=100))
    def tell(engine):
        print(engine.state.output["loss"].item())

    @trainer.on(Events.EPOCH_COMPLETED)
    def close(engine):
        print(engine.state.output["loss"].item())

    def remember(engine):
        curve.append(engine.state.output["acc"].cpu())  # expect: sync-every-step@note

    trainer.add_event_handler(Events.ITERATION_COMPLETED, remember)
    evaluator.add_event_handler(Events.EPOCH_COMPLETED, lambda engine: print(engine.state.metrics["acc"].item()))
