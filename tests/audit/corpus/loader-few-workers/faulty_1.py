import torchvision
from torch.utils.data import DataLoader


def main(root, transform, model, optimizer):
    dataset = torchvision.datasets.ImageFolder(root, transform)
    loader = DataLoader(dataset, batch_size=256, shuffle=True, num_workers=1, pin_memory=True)  # expect: loader-few-workers
    for x, y in loader:
        model(x.cuda(), y.cuda()).backward()
        optimizer.step()
        optimizer.zero_grad()
