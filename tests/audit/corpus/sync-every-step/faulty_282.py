from torch import nn


def fit(model, batches, optimizer, device, cfg, report):
    """Two reads, of which one stands behind a setting that is off by the default beside it: that is a note."""
    model.to(device)
    for inputs, labels in batches:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs.to(device)), labels.to(device))
        loss.backward()
        optimizer.step()
        report(loss.item())  # expect: sync-every-step
        if cfg.get("report_largest", False):
            report(max(loss.item(), 1.0))  # expect: sync-every-step@note
        if cfg.get("report_each", True):
            report(min(loss.item(), 1.0))  # expect: sync-every-step@warning
