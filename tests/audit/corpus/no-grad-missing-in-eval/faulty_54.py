import torch
from torchvision.utils import save_image


class Trainer:
    def __init__(self, model, optimizer, held_out, device):
        self.model, self.optimizer, self.held_out, self.device = model, optimizer, held_out, device

    def train_step(self, step, x):
        loss = self.model(x.to(self.device), return_loss=True)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        if step % 1000 == 0:
            model = self.model
            model.eval()
            shown = next(self.held_out).to(self.device)
            restored = model(shown)  # expect: no-grad-missing-in-eval@note
            pairs = torch.stack((shown, restored)).flatten(0, 1)
            save_image(pairs.detach().cpu(), f"{step}.png")
            model.train()
