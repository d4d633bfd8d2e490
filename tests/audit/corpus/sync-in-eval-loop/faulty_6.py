"""Several reads of numbers for each batch; what is copied, or written out, for each sample is what is wanted."""

import torch


def evaluate(model, loader, report):
    model.eval()
    hits = []
    with torch.no_grad():
        for pictures, kinds in loader:
            scores = model(pictures.cuda())
            for score, kind in zip(scores, kinds.cuda()):
                hits.append((score.argmax() == kind).item())  # expect: sync-in-eval-loop@warning
                report.write(str(score.max()))  # expect: sync-in-eval-loop@note
                report.keep(score.cpu())  # expect: sync-in-eval-loop@note
    return sum(hits) / len(hits)


@torch.no_grad()
def predict_kinds(model, loader):
    found = []
    for pictures, _ in loader:
        for score in model(pictures.cuda()):
            found.append(score.argmax().item())  # expect: sync-in-eval-loop@note
    return found
