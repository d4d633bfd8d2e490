"""Conditions that are neither a first turn nor a module's mode, and one read that a comprehension goes through once."""


def train(model, loader, optimizer, options, history):
    model.cuda()
    shown = 0
    for x in loader:
        losses = model(x.cuda())
        loss = losses.mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        shown += 1
        if options.kind == 0:
            history.append(loss.item())  # expect: sync-every-step@warning
        if not options.training:
            history.append(loss.sqrt().item())  # expect: sync-every-step@warning


def fit(model, loader, optimizer, history):
    model.cuda()
    for x in loader:
        losses = model(x.cuda()).flatten()
        losses.mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        history.extend([round(each, 3) for each in losses.tolist()])  # expect: sync-every-step@note
