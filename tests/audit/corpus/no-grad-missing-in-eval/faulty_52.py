import numpy as np
import torch


class Matcher:
    def __init__(self, model, pairs, testing_pairs, device):
        self.model = model.to(device)
        self.pairs, self.testing_pairs = pairs, testing_pairs
        self.optimizer = torch.optim.Adam(self.model.parameters())

    def score(self):
        self.model.eval()
        scores = []
        for pair in self.testing_pairs:
            guess = self.model(pair)  # expect: no-grad-missing-in-eval@note
            scores.append(abs(guess.item() - pair["truth"]))
        return np.mean(scores)


def validate(module, loaders):
    module.eval()
    outputs = []
    for number, loader in enumerate(loaders):
        for i, batch in enumerate(loader):
            outputs.append(module.validation_step(batch, i, number))  # expect: no-grad-missing-in-eval
    return module.validation_epoch_end(outputs)
