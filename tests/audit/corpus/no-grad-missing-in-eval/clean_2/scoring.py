"""Called by `train.py` within `torch.no_grad()`."""


def score(model, batches):
    model.eval()
    best = None
    for x, y in batches:
        out = model(x.cuda())
        gap = (out - y.cuda()).abs().max()
        best = gap if best is None else best.maximum(gap)
    return best
