import lightning
from torch import nn


class Detector(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def training_step(self, batch, index):
        loss = self.layer(batch).mean()
        self.trainer.strategy.barrier()  # expect: synchronize-every-step@warning
        return loss
