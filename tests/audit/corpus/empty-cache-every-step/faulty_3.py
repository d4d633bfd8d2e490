import lightning.pytorch as pl
import torch


class Model(pl.LightningModule):
    def __init__(self, net):
        super().__init__()
        self.net = net

    def training_step(self, batch, batch_idx):
        loss = self.net(batch).mean()
        return loss

    def on_train_batch_end(self, outputs, batch, batch_idx):
        torch.cuda.empty_cache()  # expect: empty-cache-every-step@warning
