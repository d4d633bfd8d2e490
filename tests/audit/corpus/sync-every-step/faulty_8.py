import torch


def fit(model, loader, optimizer, metrics, epochs=1, verbose=1):
    """Who does not ask for silence gets the metrics of each batch."""
    model.cuda()
    for _ in range(epochs):
        for x, y in loader:
            x, y = x.cuda(), y.cuda()
            scores = model(x)
            loss = torch.nn.functional.cross_entropy(scores, y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if verbose > 0:
                for name, metric in metrics.items():
                    print(name, metric(y.cpu().numpy(), scores.detach().cpu().numpy()))  # expect: sync-every-step
