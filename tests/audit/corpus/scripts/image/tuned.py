"""Trains a ResNet on a folder of images: `torchrun --nproc-per-node 8 train.py data/`."""

import argparse
import os
import time

import torch
import torch.distributed as dist
import torch.nn as nn
import torchvision
import torchvision.transforms as transforms
from torch.utils.data import DataLoader, DistributedSampler
from torchvision.datasets import ImageFolder


class DeviceMeter:
    """A mean that is kept on the device and read when it is printed."""

    def __init__(self, device):
        self.device = device
        self.reset()

    def reset(self):
        self.sum = torch.zeros((), device=self.device)
        self.count = 0

    def update(self, value, n=1):
        self.sum += value.detach() * n
        self.count += n

    def read(self):
        return (self.sum / max(1, self.count)).item()


@torch.no_grad()
def accuracy(output, target):
    """Share of right first guesses, in percent."""
    return (output.argmax(1) == target).float().mean() * 100.0


def make_loaders(args):
    normalise = transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
    augment = transforms.Compose(
        [transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip(), transforms.ToTensor(), normalise]
    )
    plain = transforms.Compose([transforms.Resize(256), transforms.CenterCrop(224), transforms.ToTensor(), normalise])
    train_set = ImageFolder(f"{args.data}/train", augment)
    val_set = ImageFolder(f"{args.data}/val", plain)
    sampler = DistributedSampler(train_set)
    shared = {"num_workers": args.workers, "pin_memory": True, "persistent_workers": args.workers > 0}
    train_loader = DataLoader(train_set, batch_size=args.batch_size, sampler=sampler, drop_last=True, **shared)
    val_loader = DataLoader(
        val_set, batch_size=2 * args.batch_size, sampler=DistributedSampler(val_set, shuffle=False), **shared
    )
    return train_loader, val_loader, sampler


def train(train_loader, model, criterion, optimizer, scaler, epoch, args, device):
    losses, top1 = DeviceMeter(device), DeviceMeter(device)
    model.train()
    since, images_since = time.perf_counter(), 0
    for i, (images, target) in enumerate(train_loader):
        images = images.to(device, memory_format=torch.channels_last, non_blocking=True)
        target = target.to(device, non_blocking=True)
        with torch.autocast("cuda", dtype=torch.float16):
            output = model(images)
            loss = criterion(output, target)
        optimizer.zero_grad(set_to_none=True)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), args.clip)
        scaler.step(optimizer)
        scaler.update()
        losses.update(loss, images.size(0))
        top1.update(accuracy(output, target), images.size(0))
        images_since += images.size(0)
        if i % args.print_freq == 0 and args.rank == 0:
            text = f"epoch {epoch} [{i}] loss {losses.read():.4f} top1 {top1.read():.2f}"
            now = time.perf_counter()
            print(f"{text} {images_since / (now - since):.1f} images/s")
            since, images_since = now, 0
            losses.reset()
            top1.reset()


@torch.inference_mode()
def validate(val_loader, model, device):
    top1 = DeviceMeter(device)
    model.eval()
    for images, target in val_loader:
        images = images.to(device, memory_format=torch.channels_last, non_blocking=True)
        target = target.to(device, non_blocking=True)
        with torch.autocast("cuda", dtype=torch.float16):
            output = model(images)
        top1.update(accuracy(output, target), images.size(0))
    totals = torch.stack([top1.sum, torch.tensor(float(top1.count), device=device)])
    dist.all_reduce(totals)
    return (totals[0] / totals[1]).item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("data")
    parser.add_argument("--arch", default="resnet50")
    parser.add_argument("--epochs", type=int, default=90)
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--clip", type=float, default=5.0)
    parser.add_argument("--print-freq", type=int, default=50)
    args = parser.parse_args()

    dist.init_process_group("nccl")
    args.rank = dist.get_rank()
    local_rank = int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", local_rank)
    torch.cuda.set_device(device)
    torch.backends.cudnn.benchmark = True

    model = torchvision.models.get_model(args.arch).to(device, memory_format=torch.channels_last)
    model = torch.compile(model)
    model = nn.parallel.DistributedDataParallel(model, device_ids=[local_rank])
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
    optimizer = torch.optim.SGD(model.parameters(), args.lr, momentum=0.9, weight_decay=1e-4)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.epochs)
    scaler = torch.amp.GradScaler("cuda")
    train_loader, val_loader, sampler = make_loaders(args)
    best = 0.0
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        train(train_loader, model, criterion, optimizer, scaler, epoch, args, device)
        top1 = validate(val_loader, model, device)
        scheduler.step()
        if top1 > best and args.rank == 0:
            best = top1
            torch.save({"epoch": epoch, "model": model.module.state_dict(), "best": best}, "best.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
