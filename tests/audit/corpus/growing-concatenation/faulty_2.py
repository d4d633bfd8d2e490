import numpy as np
import torch


class Collector:
    def __init__(self):
        self.scores = np.zeros(0)

    def run(self, model, loader):
        with torch.no_grad():
            for x in loader:
                self.scores = np.concatenate((self.scores, model(x.cuda()).cpu().numpy()), axis=0)  # expect: growing-concatenation
        return self.scores
