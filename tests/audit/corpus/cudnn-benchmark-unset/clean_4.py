import lightning as L
import torch
import torchvision


class Model(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torchvision.models.resnet18()

    def training_step(self, batch, _):
        return torch.nn.functional.cross_entropy(self.net(batch[0]), batch[1])


if __name__ == "__main__":
    L.Trainer(benchmark=True, max_epochs=1).fit(Model())
