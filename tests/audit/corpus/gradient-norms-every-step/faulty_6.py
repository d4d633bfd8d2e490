import torch as th


class MixedPrecision:
    """The loop is another file's."""

    def __init__(self, model):
        self.model = model
        self.master_params = list(model.parameters())
        self.scale = 20.0

    def backward(self, loss):
        (loss * 2**self.scale).backward()

    def optimize(self, opt):
        grad, param = self._compute_norms(2**self.scale)
        self.log("grad_norm", grad)
        self.log("param_norm", param)
        opt.step()

    def _compute_norms(self, grad_scale=1.0):
        grad_norm = 0.0
        param_norm = 0.0
        for p in self.master_params:
            with th.no_grad():
                param_norm += th.norm(p, p=2, dtype=th.float32).item() ** 2
                if p.grad is not None:
                    grad_norm += th.norm(p.grad, p=2, dtype=th.float32).item() ** 2  # expect: gradient-norms-every-step@note
        return grad_norm**0.5 / grad_scale, param_norm**0.5
