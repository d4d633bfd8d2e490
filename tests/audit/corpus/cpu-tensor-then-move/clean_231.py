import lightning.pytorch as pl
import torch


class Gan(pl.LightningModule):
    def training_step(self, batch, batch_idx):
        x, _ = batch
        share = torch.rand(x.shape[0])
        level = torch.ones(1, dtype=torch.float64)
        share = share.type_as(level)
        noise = torch.randn(x.shape[0], self.latent, device=self.device).type_as(x)
        return self.critic(self.generator(noise), x), share
