import gc

from torch import cuda


def clean_up():
    gc.collect()
    cuda.empty_cache()  # expect: empty-cache-every-step@warning


class Loop:
    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer

    def train(self, batches):
        for batch in batches:
            self.model(batch.cuda()).mean().backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
            clean_up()
