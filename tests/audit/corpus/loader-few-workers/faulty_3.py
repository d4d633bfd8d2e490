import lightning as L
from torch.utils.data import DataLoader
from torchvision.datasets import ImageNet


class ImageModule(L.LightningDataModule):
    def __init__(self, root, transform):
        super().__init__()
        self.root, self.transform = root, transform

    def train_dataloader(self):
        images = ImageNet(self.root, split="train", transform=self.transform)
        return DataLoader(images, batch_size=256, shuffle=True, num_workers=1, persistent_workers=True)  # expect: loader-few-workers
