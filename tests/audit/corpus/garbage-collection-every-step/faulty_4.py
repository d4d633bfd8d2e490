"""A callback that tidies up behind each batch."""

import gc

import torch
from transformers import TrainerCallback


class Tidy(TrainerCallback):
    def on_epoch_end(self, args, state, control, **kwargs):
        gc.collect()


class Own:
    def on_batch_end(self, runner):
        gc.collect()  # expect: garbage-collection-every-step@note
