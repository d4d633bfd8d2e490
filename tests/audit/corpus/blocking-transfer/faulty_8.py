import torch
from torch import nn
from torch.utils.data import DataLoader


def make_loader(dataset, args, shuffle):
    return DataLoader(dataset, args.batch_size, shuffle=shuffle, num_workers=args.workers, pin_memory=True)


def train(model, loader, optimizer, device):
    for batch in loader:
        inputs, labels = (part.to(device) for part in batch)  # expect: blocking-transfer
        loss = nn.functional.cross_entropy(model(inputs), labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def train_dict(model, loader, optimizer, device):
    for batch in loader:
        for key in batch:
            if isinstance(batch[key], torch.Tensor):
                batch[key] = batch[key].to(device)  # expect: blocking-transfer
        loss = model(**batch)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def main(args, dataset, model):
    loader = make_loader(dataset, args, True)
    optimizer = torch.optim.Adam(model.parameters())
    device = torch.device(f"cuda:{args.gpu}")
    train(model, loader, optimizer, device)
    train_dict(model, loader, optimizer, device)
