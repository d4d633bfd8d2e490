import torch
from data import build_loader


class Pipeline:
    """The loader comes from a module that looks its maker up."""

    def __init__(self, args, model, device):
        self.model, self.device = model, device
        self.dataset, self.train_loader = build_loader(args.path)
        self.loader_iter = iter(self.train_loader)
        self.optimizer = torch.optim.AdamW(model.parameters())

    def next_batch(self, state):
        batch = next(self.loader_iter, None)
        if batch is None:
            self.loader_iter = iter(self.train_loader)
            batch = next(self.loader_iter)
        latents = batch["latents"]
        state.latents = latents[:, :, :8].to(self.device, dtype=torch.bfloat16)  # expect: blocking-transfer
        state.texts = batch["texts"].to(torch.bfloat16)
        return state

    def train(self, state, steps):
        for _ in range(steps):
            state = self.next_batch(state)
            loss = self.model(state.latents, state.texts).mean()
            loss.backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
