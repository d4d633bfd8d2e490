import lightning.pytorch as pl
import torch


class Gan(pl.LightningModule):
    def training_step(self, batch, batch_idx):
        x, _ = batch
        noise = torch.normal(mean=0, std=1, size=(x.shape[0], self.latent))
        noise = noise.type_as(x)  # expect: cpu-tensor-then-move@note
        return self.critic(self.generator(noise), x)
