import torch
from torch.utils.data import DataLoader


def main(dataset, model, optimizer):
    """Memory that is not pinned is copied by the host whatever the flag says."""
    loader = DataLoader(dataset, batch_size=256, num_workers=8)
    for images, labels in loader:
        loss = torch.nn.functional.cross_entropy(model(images.cuda()), labels.cuda())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def on_the_processor(dataset, model, optimizer):
    loader = DataLoader(dataset, batch_size=8, num_workers=2, pin_memory=True)
    for images in loader:
        model(images.to("cpu")).mean().backward()
        optimizer.step()


def change_of_type(dataset, model, optimizer):
    for images in DataLoader(dataset, batch_size=8, num_workers=2, pin_memory=True):
        images = images.to("cuda", non_blocking=True).to(torch.bfloat16)
        model(images.to(torch.float32)).mean().backward()
        optimizer.step()
