"""Handles of hooks are kept, to take the hooks off again: they hold no graph."""


def train(model, batches, optimizer):
    handles = []
    for x in batches:
        out = model(x.cuda())
        handles.append(out.register_hook(print))
        out.mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    for each in handles:
        each.remove()
