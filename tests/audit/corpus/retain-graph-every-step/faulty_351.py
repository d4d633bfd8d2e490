"""The last of a turn's backward passes, behind which nobody differentiates."""

import torch


def train(G, D, pictures, opt_G, opt_D):
    for step in range(10000):
        made = G(torch.randn(64, 5))
        loss_G = torch.log(1.0 - D(made)).mean()
        opt_G.zero_grad()
        loss_G.backward()
        opt_G.step()
        loss_D = -(torch.log(D(pictures())) + torch.log(1.0 - D(made.detach()))).mean()
        opt_D.zero_grad()
        loss_D.backward(retain_graph=True)  # expect: retain-graph-every-step@note
        opt_D.step()
