from torch.nn.utils import clip_grads_with_norm_, get_total_norm


def step(model, batch, optimizer, scaler, limit):
    """The norm is taken of scaled gradients, and they are clipped by it."""
    scaler.scale(model(batch)).backward()
    norm = get_total_norm([each.grad for each in model.parameters()])
    clip_grads_with_norm_(model.parameters(), limit, norm)  # expect: clip-before-unscale@warning
    scaler.step(optimizer)
    scaler.update()
