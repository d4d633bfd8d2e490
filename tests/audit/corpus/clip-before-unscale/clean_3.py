import torch


class Scaler:
    """Scaling, clipping and the step in one call, as image libraries have it."""

    def __init__(self):
        self._scaler = torch.amp.GradScaler("cuda")

    def __call__(self, loss, optimizer, parameters=None, clip=None, update=True):
        self._scaler.scale(loss).backward()
        if not update:
            return None
        if clip is not None:
            self._scaler.unscale_(optimizer)
            norm = torch.nn.utils.clip_grad_norm_(parameters, clip)
        else:
            self._scaler.unscale_(optimizer)
            norm = None
        self._scaler.step(optimizer)
        self._scaler.update()
        return norm
