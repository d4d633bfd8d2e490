"""Settings of groups of parameters, and what is counted under names that only look like those of parameters."""


def train(model, batches, optimizer, params, rate):
    seen = {name: 0.0 for name in params["metrics"]}
    for batch in batches:
        for group in optimizer.param_groups:
            group["lr"] = rate * 0.5
        loss = model(batch).mean()
        loss.backward()
        optimizer.step()
        for name in params["metrics"]:
            seen[name] += batch.size
    return seen
