"""A few steps that look for a batch size keep little."""

from torch.nn.functional import cross_entropy


def find_batch_size(model, loader, optimizer):
    losses = []
    for picture, kind in loader:
        loss = cross_entropy(model(picture.cuda()), kind.cuda())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss)  # expect: retained-graph@note
    return losses
