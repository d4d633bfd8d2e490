import torch
import torchvision
from torch.utils.data import DataLoader
from torchvision import transforms


def main(root, model, optimizer):
    transform = transforms.Compose([transforms.RandomResizedCrop(224), transforms.ToTensor()])
    dataset = torchvision.datasets.ImageFolder(root, transform)
    loader = DataLoader(dataset, batch_size=128, shuffle=True)  # expect: loader-without-workers@note
    for x, y in loader:
        torch.nn.functional.cross_entropy(model(x.cuda()), y.cuda()).backward()
        optimizer.step()
        optimizer.zero_grad()
