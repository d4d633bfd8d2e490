import torch


def train(model, loader, optimizer):
    outputs = []
    for x, y in loader:
        out = model(x.cuda())
        loss = torch.nn.functional.cross_entropy(out, y.cuda())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        outputs.append(out.detach().cpu())  # expect: host-memory-growth
    return outputs
