"""A loss that `backward()` has gone through leaves the graph's nodes; one that it never reaches leaves its activations."""


def train(model, loader, optimizer, criterion):
    total, checks = 0, 0
    for x, y in loader:
        loss = criterion(model(x.cuda()), y.cuda())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss  # expect: retained-graph@note
        check = criterion(model(x.cuda()), y.cuda())
        checks += check  # expect: retained-graph@warning
    return total, checks


def tune(model, loader, optimizer, criterion):
    total, count = 0, 0
    for x, y in loader:
        loss = criterion(model(x.cuda()), y.cuda())
        loss.backward(retain_graph=True)
        optimizer.step()
        optimizer.zero_grad()
        total += loss  # expect: retained-graph@warning
        count += 1
    return total / count
