from torch import nn


def fit(model, batches, probes, optimizer, device, every):
    """Every so many steps a look at gradients, which are differentiated for it and not learnt from."""
    model.to(device)
    for step, (inputs, labels) in enumerate(batches):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs.to(device)), labels.to(device))
        loss.backward()
        optimizer.step()
        if step % every == 0:
            train_probe(model, probes, device)


def train_probe(model, probes, device):
    for inputs, labels in probes:
        loss = nn.functional.cross_entropy(model(inputs.to(device)), labels.to(device))
        loss.backward()
        print(loss.item())
        model.zero_grad()
