import torch
from torch.utils.data import DataLoader


def main(dataset, model):
    loader = DataLoader(dataset, batch_size=1, shuffle=True, num_workers=4, pin_memory=True)  # expect: small-batch
    optimizer = torch.optim.Adam(model.cuda().parameters())
    for x, y in loader:
        loss = torch.nn.functional.cross_entropy(model(x.cuda()), y.cuda())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
