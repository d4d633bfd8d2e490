import torch
from torch.utils.data import DataLoader


def main(dataset, model):
    model.cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = DataLoader(dataset, batch_size=128, shuffle=True, num_workers=8)  # expect: loader-without-pinned-memory@note
    for x, y in loader:
        torch.nn.functional.cross_entropy(model(x.cuda()), y.cuda()).backward()
        optimizer.step()
        optimizer.zero_grad()
