"""A module and a callback of Lightning."""

import lightning as L
import torch
from lightning.pytorch.callbacks import Callback


class LitModel(L.LightningModule):
    def training_step(self, batch, batch_idx):
        x, y = batch
        logits = self(x)
        loss = torch.nn.functional.cross_entropy(logits, y)
        acc = (logits.argmax(1) == y).float().mean()
        self.log("train_loss", loss.item())  # expect: sync-every-step
        self.log_dict({"acc": acc.item()})  # expect: sync-every-step
        self.train_losses.append(loss.detach().cpu())  # expect: sync-every-step
        return loss

    def validation_step(self, batch, batch_idx):
        x, y = batch
        preds = self(x).argmax(1)
        self.preds.extend(preds.cpu().tolist())
        self.hits += (preds == y).sum().item()

    def on_train_batch_end(self, outputs, batch, batch_idx):
        self.ema_loss = 0.9 * self.ema_loss + 0.1 * outputs["loss"].item()  # expect: sync-every-step

    def on_before_optimizer_step(self, optimizer):
        for name, p in self.named_parameters():
            self.log(f"grad/{name}", p.grad.norm().item())  # expect: sync-every-step

    def on_train_epoch_end(self):
        print(torch.stack(self.train_losses).mean().item())


class EMACallback(Callback):
    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        with torch.no_grad():
            for k, v in pl_module.state_dict().items():
                self.ema[k].mul_(self.decay).add_(v, alpha=1 - self.decay)
