"""Segments images of streets, with Lightning."""

import argparse
from pathlib import Path

import lightning as L
import torch
import torch.nn.functional as F
from lightning.pytorch.callbacks import Callback, ModelCheckpoint
from torch import nn
from torch.utils.data import DataLoader, Dataset
from torchmetrics.classification import MulticlassAccuracy
from torchvision.io import read_image


class Streets(Dataset):
    def __init__(self, root, split):
        self.images = sorted((Path(root) / split / "images").glob("*.png"))
        self.masks = sorted((Path(root) / split / "masks").glob("*.png"))

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        return read_image(str(self.images[index])), read_image(str(self.masks[index])).squeeze(0)


class StreetData(L.LightningDataModule):
    def __init__(self, root, batch_size, workers):
        super().__init__()
        self.root, self.batch_size, self.workers = root, batch_size, workers

    def _loader(self, split, batch_size, shuffle):
        return DataLoader(
            Streets(self.root, split),
            batch_size=batch_size,
            shuffle=shuffle,
            num_workers=self.workers,
            pin_memory=True,
            persistent_workers=True,
        )

    def train_dataloader(self):
        return self._loader("train", self.batch_size, shuffle=True)

    def val_dataloader(self):
        return self._loader("val", 2 * self.batch_size, shuffle=False)


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
        self.net = torch.compile(UNet(classes))
        self.lr = lr
        self.accuracy = MulticlassAccuracy(classes)
        self.register_buffer("weights", torch.ones(classes), persistent=False)

    def on_after_batch_transfer(self, batch, dataloader_idx):
        image, mask = batch
        return image.float() / 255, mask.long()

    def training_step(self, batch, batch_idx):
        image, mask = batch
        logits = self.net(image)
        loss = F.cross_entropy(logits, mask, weight=self.weights)
        self.accuracy(logits, mask)
        self.log("train_loss", loss, prog_bar=True)
        self.log("train_accuracy", self.accuracy, on_step=False, on_epoch=True)
        return loss

    def validation_step(self, batch, batch_idx):
        image, mask = batch
        self.log("val_loss", F.cross_entropy(self.net(image), mask), sync_dist=True)

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=self.lr, fused=True)
        return {"optimizer": optimizer, "lr_scheduler": torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 100)}


class Peak(Callback):
    def on_train_epoch_end(self, trainer, module):
        module.log("peak_gib", torch.cuda.max_memory_allocated() / 2**30)
        torch.cuda.reset_peak_memory_stats()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("root")
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--detect-anomaly", action="store_true")
    args = parser.parse_args()
    torch.set_float32_matmul_precision("high")
    trainer = L.Trainer(
        accelerator="gpu",
        devices=4,
        strategy="ddp",
        precision="bf16-mixed",
        benchmark=True,
        gradient_clip_val=1.0,
        max_epochs=args.epochs,
        detect_anomaly=args.detect_anomaly,
        callbacks=[Peak(), ModelCheckpoint(monitor="val_loss")],
    )
    trainer.fit(Segmenter(19, 1e-3), datamodule=StreetData(args.root, args.batch_size, args.workers))


if __name__ == "__main__":
    main()
