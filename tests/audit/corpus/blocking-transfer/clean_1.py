import torch
from torch.utils.data import DataLoader


def main(dataset, model, optimizer):
    loader = DataLoader(dataset, batch_size=256, num_workers=8, pin_memory=True)
    for images, labels in loader:
        images = images.to("cuda", non_blocking=True)
        labels = labels.cuda(None, True)
        loss = torch.nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
