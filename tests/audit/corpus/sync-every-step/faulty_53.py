"""A buffer in the host's memory draws by priorities, which must get there; the numbers for a log need not each time."""

import torch.nn.functional as F


class Critic:
    def __init__(self, network, optimizer, buffer):
        self.network = network.cuda()
        self.optimizer = optimizer
        self.buffer = buffer

    def learn(self, batch, places):
        worth = self.network(batch["state"].cuda())
        apart = F.smooth_l1_loss(worth, batch["worth"].cuda(), reduction="none")
        loss = apart.mean()
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.buffer.set_priorities(places, apart.detach().cpu().numpy())  # expect: sync-every-step@note
        return {
            "loss": loss.item(),  # expect: sync-every-step@warning
            "worth": worth.mean().item(),  # expect: sync-every-step@warning
            "priority": apart.abs().tolist(),  # expect: sync-every-step@note
        }
