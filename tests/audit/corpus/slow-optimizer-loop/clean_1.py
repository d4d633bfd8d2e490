import torch


def main(model, loader, options):
    first = torch.optim.AdamW(model.cuda().parameters(), lr=1e-3)
    second = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    third = torch.optim.Adam(model.parameters(), foreach=True)
    fourth = torch.optim.Adam(model.parameters(), foreach=False, fused=True)
    fifth = torch.optim.Adam(model.parameters(), foreach=options.foreach)
    for x in loader:
        model(x.cuda()).mean().backward()
        for optimizer in (first, second, third, fourth, fifth):
            optimizer.step()
            optimizer.zero_grad()
