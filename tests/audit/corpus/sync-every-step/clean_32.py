def train(model, loader, optimizer, most):
    """A batch that is left out is the exception, and says so."""
    for x, y in loader:
        out = model(x.cuda())
        if y.size(0) < most:
            print("too short:", out.mean().item())
            continue
        loss = (out - y.cuda()).pow(2).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
