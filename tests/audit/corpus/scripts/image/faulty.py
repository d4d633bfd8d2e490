"""Trains a ResNet on a folder of images."""

import argparse
import time

import torch
import torch.nn as nn
import torchvision
import torchvision.transforms as transforms
from torch.utils.data import DataLoader
from torchvision.datasets import ImageFolder


class AverageMeter:
    def __init__(self, name):
        self.name = name
        self.reset()

    def reset(self):
        self.value = 0
        self.sum = 0
        self.count = 0

    def update(self, value, n=1):
        self.value = value
        self.sum += value * n
        self.count += n

    @property
    def average(self):
        return self.sum / max(1, self.count)


def accuracy(output, target, topk=(1, 5)):
    """Precision at each k, in percent."""
    with torch.no_grad():
        _, guesses = output.topk(max(topk), 1, True, True)
        correct = guesses.t().eq(target.view(1, -1).expand(max(topk), -1))
        return [correct[:k].reshape(-1).float().sum(0) * 100.0 / target.size(0) for k in topk]


def make_loaders(args):
    normalise = transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
    train_set = ImageFolder(
        f"{args.data}/train",
        transforms.Compose(
            [transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip(), transforms.ToTensor(), normalise]
        ),
    )
    val_set = ImageFolder(
        f"{args.data}/val",
        transforms.Compose([transforms.Resize(256), transforms.CenterCrop(224), transforms.ToTensor(), normalise]),
    )
    train_loader = DataLoader(train_set, batch_size=args.batch_size, shuffle=True)  # expect: loader-without-workers, loader-without-pinned-memory
    val_loader = DataLoader(val_set, batch_size=10, shuffle=False, num_workers=1)  # expect: loader-few-workers, literal-eval-batch-size
    return train_loader, val_loader


def train(train_loader, model, criterion, optimizer, epoch, args):
    losses, top1 = AverageMeter("loss"), AverageMeter("top1")
    running = 0
    begin = time.time()
    images_seen = 0
    model.train()
    for i, (images, target) in enumerate(train_loader):  # expect: cudnn-benchmark-unset@note
        images = images.cuda()
        target = target.cuda()
        output = model(images)  # expect: no-mixed-precision@note
        loss = criterion(output, target)
        acc1, _acc5 = accuracy(output, target)
        losses.update(loss.item(), images.size(0))  # expect: sync-every-step@warning
        top1.update(acc1.item(), images.size(0))  # expect: sync-every-step@warning
        running += loss  # expect: retained-graph@note
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        images_seen += images.size(0)
        if i % args.print_freq == 0:
            rate = images_seen / (time.time() - begin)  # expect: cumulative-speed-log
            print(f"epoch {epoch} [{i}] loss {losses.average:.4f} top1 {top1.average:.2f} {rate:.1f} images/s")
    print("mean loss", running / len(train_loader))


def validate(val_loader, model, criterion):
    top1 = AverageMeter("top1")
    model.eval()
    for images, target in val_loader:
        images, target = images.cuda(), target.cuda()
        output = model(images)  # expect: no-grad-missing-in-eval@warning
        acc1, _ = accuracy(output, target)
        top1.update(acc1.item(), images.size(0))  # expect: sync-in-eval-loop
    return top1.average


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("data")
    parser.add_argument("--arch", default="resnet50")
    parser.add_argument("--epochs", type=int, default=90)
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--print-freq", type=int, default=10)
    args = parser.parse_args()

    torch.autograd.set_detect_anomaly(True)  # expect: anomaly-mode@warning
    model = torchvision.models.get_model(args.arch)
    model = nn.DataParallel(model).cuda()  # expect: data-parallel@warning
    criterion = nn.CrossEntropyLoss().cuda()
    optimizer = torch.optim.SGD(model.parameters(), args.lr, momentum=0.9, weight_decay=1e-4)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=30, gamma=0.1)
    train_loader, val_loader = make_loaders(args)
    best = 0.0
    for epoch in range(args.epochs):
        train(train_loader, model, criterion, optimizer, epoch, args)
        top1 = validate(val_loader, model, criterion)
        scheduler.step()
        if top1 > best:
            best = top1
            torch.save({"epoch": epoch, "model": model.state_dict(), "best": best}, "best.pt")


if __name__ == "__main__":
    main()
