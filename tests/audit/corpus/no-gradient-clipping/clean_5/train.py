import torch

from optimisation import update


def train(batches):
    model = torch.nn.GRU(64, 64).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    for batch in batches:
        loss = model(batch.cuda())[0].square().mean()
        loss.backward()
        update(model, optimizer, 1.0)
