"""Segments images of streets, with Lightning."""

import argparse
import gc
from pathlib import Path

import lightning as L
import torch
import torch.nn.functional as F
from lightning.pytorch.callbacks import Callback, ModelCheckpoint
from PIL import Image
from torch import nn
from torch.utils.data import DataLoader, Dataset
from torchvision.transforms.v2.functional import pil_to_tensor


class Streets(Dataset):
    def __init__(self, root, split):
        self.images = sorted((Path(root) / split / "images").glob("*.png"))
        self.masks = sorted((Path(root) / split / "masks").glob("*.png"))

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        image = pil_to_tensor(Image.open(self.images[index])).float() / 255
        mask = pil_to_tensor(Image.open(self.masks[index])).long()
        return image, mask.squeeze(0)


class StreetData(L.LightningDataModule):
    def __init__(self, root, batch_size):
        super().__init__()
        self.root, self.batch_size = root, batch_size

    def train_dataloader(self):
        return DataLoader(Streets(self.root, "train"), batch_size=self.batch_size, shuffle=True)  # expect: loader-without-workers

    def val_dataloader(self):
        return DataLoader(Streets(self.root, "val"), batch_size=1, num_workers=4)  # expect: literal-eval-batch-size


class Down(nn.Module):
    def __init__(self, channels_in, channels_out):
        super().__init__()
        self.convolutions = nn.Sequential(
            nn.Conv2d(channels_in, channels_out, 3, padding=1, bias=False),
            nn.BatchNorm2d(channels_out),
            nn.ReLU(inplace=True),
            nn.Conv2d(channels_out, channels_out, 3, padding=1, bias=False),
            nn.BatchNorm2d(channels_out),
            nn.ReLU(inplace=True),
        )

    def forward(self, x):
        x = self.convolutions(x)
        return F.max_pool2d(x, 2), x


class UNet(nn.Module):
    def __init__(self, classes, width=32):
        super().__init__()
        self.down_1, self.down_2 = Down(3, width), Down(width, 2 * width)
        self.middle = nn.Conv2d(2 * width, 2 * width, 3, padding=1)
        self.up_2 = nn.ConvTranspose2d(4 * width, width, 2, stride=2)
        self.up_1 = nn.ConvTranspose2d(2 * width, width, 2, stride=2)
        self.head = nn.Conv2d(width, classes, 1)

    def forward(self, x):
        x, skip_1 = self.down_1(x)
        x, _skip_2 = self.down_2(x)
        x = torch.cat([self.middle(x), x], dim=1)
        x = torch.cat([self.up_2(x), F.max_pool2d(skip_1, 2)], dim=1)
        return self.head(self.up_1(x))


class Segmenter(L.LightningModule):
    def __init__(self, classes, lr):
        super().__init__()
        self.net = UNet(classes)
        self.lr = lr
        self.train_outputs = []

    def training_step(self, batch, batch_idx):
        image, mask = batch
        logits = self.net(image)
        weights = torch.ones(logits.size(1)).cuda()  # expect: cpu-tensor-then-move
        loss = F.cross_entropy(logits, mask, weight=weights)
        hits = (logits.argmax(1) == mask).float().mean()
        print(f"loss {loss.item():.3f}")  # expect: sync-every-step@warning
        self.log("train_accuracy", hits.item())  # expect: sync-every-step@warning
        self.train_outputs.append(logits.detach().cpu())  # expect: host-memory-growth@warning, sync-every-step@warning
        return loss

    def validation_step(self, batch, batch_idx):
        image, mask = batch
        self.log("val_loss", F.cross_entropy(self.net(image), mask), sync_dist=True)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=self.lr, foreach=False)  # expect: slow-optimizer-loop


class TidyUp(Callback):
    def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx):
        gc.collect()  # expect: garbage-collection-every-step@warning
        torch.cuda.empty_cache()  # expect: empty-cache-every-step@warning


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("root")
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--epochs", type=int, default=100)
    args = parser.parse_args()
    trainer = L.Trainer(
        accelerator="gpu",
        devices=4,
        strategy="ddp",
        max_epochs=args.epochs,
        detect_anomaly=True,  # expect: anomaly-mode@warning
        callbacks=[TidyUp(), ModelCheckpoint(monitor="val_loss")],
    )
    trainer.fit(Segmenter(19, 1e-3), datamodule=StreetData(args.root, args.batch_size))


if __name__ == "__main__":
    main()
