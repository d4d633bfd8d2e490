import torch


def micro_batches(model, loader, optimizer):
    for batch in loader:
        parts = []
        for part in batch.chunk(4):
            parts.append(model(part.cuda()))
        torch.cat(parts).mean().backward()
        optimizer.step()
        optimizer.zero_grad()


def prepare(files):
    data = []
    for file in files:
        data.append(torch.load(file))
    return torch.stack(data)


class Hooked:
    def __init__(self, model):
        self.captured = {}
        model.register_forward_hook(self.keep)

    def keep(self, module, inputs, output):
        self.captured["last"] = output.detach().cpu()


def epoch(model, loader, optimizer, epochs):
    for _ in range(epochs):
        predictions = []
        for x, y in loader:
            out = model(x.cuda())
            out.mean().backward()
            optimizer.step()
            optimizer.zero_grad()
            predictions.append(out.argmax(1).detach())
        print(torch.cat(predictions).float().mean().item())
