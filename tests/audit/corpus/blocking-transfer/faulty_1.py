import torch
from torch.utils.data import DataLoader


def main(dataset, model, optimizer):
    device = torch.device("cuda")
    loader = DataLoader(dataset, batch_size=256, num_workers=8, pin_memory=True, persistent_workers=True)
    for images, labels in loader:
        images = images.to(device)  # expect: blocking-transfer
        labels = labels.to(device)  # expect: blocking-transfer
        loss = torch.nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
