import lightning.pytorch as pl
import torch


class Model(pl.LightningModule):
    def __init__(self, net):
        super().__init__()
        self.net = net

    def training_step(self, batch, batch_idx):
        return self.net(batch).mean()

    def on_train_epoch_end(self):
        torch.cuda.empty_cache()

    def on_validation_start(self):
        torch.cuda.empty_cache()
