from torch import nn


def fit(model, batches, optimizer, device, save, log_every, save_every):
    """Reads what it shows each so many steps: a bound moves on, or the step is kept at which it last did."""
    model.to(device)
    due, saved, step = 0, 0, 0
    for inputs, labels in batches:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs.to(device)), labels.to(device))
        loss.backward()
        optimizer.step()
        step += len(inputs)
        if step >= due:
            due += log_every
            print(f"loss {loss.item():.3f}, largest weight {max(p.max().item() for p in model.parameters()):.3f}")
        if step - saved >= save_every:
            save(model, f"{step}-{loss.item():.3f}.pt")
            saved = step
