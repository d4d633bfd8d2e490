import numpy as np
import torch


def run(net, opt, data):
    for xb, yb in data:
        opt.zero_grad()
        out = net(xb.to("cuda"))
        torch.nn.functional.mse_loss(out, yb.to("cuda")).backward()
        norms = [p.grad.detach().norm().cpu() for p in net.parameters() if p.grad is not None]  # expect: gradient-norms-every-step@warning
        print("p95", np.percentile(norms, 95))
        opt.step()
