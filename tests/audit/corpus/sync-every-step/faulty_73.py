from torch import nn


def fit(model, batches, optimizer, device, warmup_samples, tracker):
    """From some sample on each step reads its loss: the counter is never started anew."""
    seen = 0
    model.to(device)
    for inputs, labels in batches:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs.to(device)), labels.to(device))
        loss.backward()
        optimizer.step()
        seen += len(inputs)
        if seen >= warmup_samples:
            tracker.append(loss.item())  # expect: sync-every-step@warning
            tracker.largest = max(tracker.largest, loss.item())  # expect: sync-every-step@warning
