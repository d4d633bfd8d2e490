import torch


def main(model, loader):
    optimizer = torch.optim.AdamW(model.cuda().parameters(), lr=1e-3, foreach=False)  # expect: slow-optimizer-loop
    for x in loader:
        model(x.cuda()).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
