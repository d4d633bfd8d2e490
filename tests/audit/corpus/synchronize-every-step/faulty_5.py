"""Around a step whose loop is in another package."""

import torch


class Timing:
    def before_train_step(self, algorithm):
        torch.cuda.synchronize()  # expect: synchronize-every-step@note
        algorithm.begun.record()

    def after_train_step(self, algorithm):
        if hasattr(algorithm, "ended"):
            algorithm.ended.record()
            torch.cuda.synchronize()  # expect: synchronize-every-step@note

    def after_train_epoch(self, algorithm):
        torch.cuda.synchronize()
