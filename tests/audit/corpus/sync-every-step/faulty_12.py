"""A scaler that is handed the optimizer does both passes; clipping is a method of what wraps the optimizer."""

from elsewhere import measure, weigh


def fit(model, loader, optimizer, loss_scaler, meter):
    model.train()
    for picture, kind in loader:
        loss = weigh(model(picture.cuda()), kind.cuda())
        loss_scaler(loss, optimizer, clip_grad=1.0, parameters=model.parameters())
        optimizer.zero_grad()
        meter.update(loss.item())  # expect: sync-every-step@note


def fit_wrapped(model, loader, optimizer, meter):
    for picture, kind in loader:
        loss = weigh(model(picture.cuda()), kind.cuda())
        optimizer.zero_grad()
        optimizer.backward(loss)
        norm = optimizer.clip_grad_norm(5.0)
        if norm > 100:  # expect: sync-every-step@warning
            continue
        optimizer.step()
        meter.update(loss.item())  # expect: sync-every-step@warning
        meter.judge(measure(kind).item())  # expect: sync-every-step@note
