import torch
from accelerate import Accelerator
from torch.nn.parallel import DistributedDataParallel as DDP


class Trainer:
    def __init__(self, model, deepspeed, wrapped):
        self.ds_model = deepspeed
        self.model = DDP(model) if wrapped else model

    def train(self, loader, optimizer, every):
        for step, (x, y) in enumerate(loader):
            loss = torch.nn.functional.cross_entropy(self.model(x), y) / every
            self.ds_model.backward(loss)
            if step % every == 0:
                optimizer.step()
                optimizer.zero_grad()


class Adversary:
    def __init__(self, generator, optimizer):
        self.accelerator = Accelerator()
        self.generator, self.optimizer = self.accelerator.prepare(generator, optimizer)

    def step(self, batches, micro):
        images = []
        for _ in range(micro):
            made = self.generator(next(batches))
            images.append(made)
            with self.accelerator.accumulate(self.generator):
                self.accelerator.backward(made.mean())
        self.accelerator.backward(contrast(torch.cat(images)))
        self.optimizer.step()
        self.optimizer.zero_grad()

    def train(self, batches, steps, every):
        for number in range(steps):
            self.step(batches, 4)
            if number % every == 0:
                self.optimizer.step()
