import lightning as L
import torch
from torchmetrics import Accuracy


class Net(L.LightningModule):
    def __init__(self, encoder):
        super().__init__()
        self.encoder = encoder
        self.accuracy = Accuracy(task="multiclass", num_classes=10)

    def training_step(self, batch, batch_idx):
        x, y = batch
        logits = self.encoder(x)
        loss = torch.nn.functional.cross_entropy(logits, y)
        self.accuracy(logits, y)
        self.log("loss", loss, prog_bar=True)
        self.log("accuracy", self.accuracy, on_step=False, on_epoch=True)
        if self.global_step % self.trainer.log_every_n_steps == 0:
            self.print(loss.item())
        return loss
