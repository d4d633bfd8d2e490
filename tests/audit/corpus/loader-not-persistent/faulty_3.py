import lightning as L
from torch.utils.data import DataLoader


class Texts(L.LightningDataModule):
    def __init__(self, train_set, workers=8):
        super().__init__()
        self.train_set = train_set

    def train_dataloader(self):
        return DataLoader(self.train_set, batch_size=32, num_workers=8, pin_memory=True)  # expect: loader-not-persistent


def main(module, train_set):
    L.Trainer(max_epochs=40).fit(module, datamodule=Texts(train_set))
