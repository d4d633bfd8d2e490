import torch
from torch import amp
from torch.nn.utils import clip_grad_norm_


class Loop:
    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer
        self.grad_scaler = amp.GradScaler("cuda")

    def step(self, batch):
        with amp.autocast("cuda", dtype=torch.float16):
            loss = self.model(batch).mean()
        self.grad_scaler.scale(loss).backward()
        clip_grad_norm_(self.model.parameters(), 0.5)  # expect: clip-before-unscale@warning
        self.grad_scaler.unscale_(self.optimizer)
        self.grad_scaler.step(self.optimizer)
        self.grad_scaler.update()
        self.optimizer.zero_grad()

    def run(self, batches):
        for batch in batches:
            self.step(batch.cuda())
