import lightning as L
import torch


class Model(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.rnn = torch.nn.GRU(128, 128)

    def training_step(self, batch, _):
        return self.rnn(batch)[0].mean()

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters())


if __name__ == "__main__":
    trainer = L.Trainer(max_epochs=2, gradient_clip_val=1.0, gradient_clip_algorithm="norm")
    trainer.fit(Model())
