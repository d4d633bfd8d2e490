from enum import Enum

import torch


class Phase(Enum):
    TRAIN = "train"
    VALID = "valid"


class Runner:
    """One method takes the losses of both phases: what it does for validation is no part of training."""

    def __init__(self, model, optimizer, meter):
        self.model = model.cuda()
        self.optimizer = optimizer
        self.meter = meter
        self.phase = Phase.TRAIN

    def _note(self, loss, output):
        if self.phase == Phase.TRAIN:
            self.meter.update(loss.item())  # expect: sync-every-step@warning
            self.meter.largest = output.max().item()  # expect: sync-every-step@warning
        elif self.phase == Phase.VALID:
            self.meter.update_validation(loss.item())  # expect: sync-every-step@note
            self.meter.largest_valid = output.max().item()  # expect: sync-every-step@note

    def train(self, loader):
        self.phase = Phase.TRAIN
        for inputs, labels in loader:
            output = self.model(inputs.cuda())
            loss = torch.nn.functional.cross_entropy(output, labels.cuda())
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self._note(loss, output)
