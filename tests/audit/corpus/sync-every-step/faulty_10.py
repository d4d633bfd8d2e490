import torch as th
from far import Algorithm


class Learner(Algorithm):
    """The policy is a base class's; what it gives is not known, but what is added up to the loss is a loss."""

    def train(self):
        found = []
        for batch in self.buffer.get(64):
            values, chance, entropy = self.policy.evaluate_actions(batch.observations, batch.actions)
            policy_loss = -th.min(batch.advantages * chance, batch.limited).mean()
            found.append(policy_loss.item())  # expect: sync-every-step@warning
            value_loss = th.nn.functional.mse_loss(batch.returns, values)
            found.append(value_loss.item())  # expect: sync-every-step@warning
            loss = policy_loss + self.weight * value_loss - 0.01 * entropy.mean()
            self.policy.optimizer.zero_grad()
            loss.backward()
            th.nn.utils.clip_grad_norm_(self.policy.parameters(), 0.5)
            self.policy.optimizer.step()


def show(model, loader, optimizer, bar, device):
    mean = th.zeros(3, device=device)
    for number, (images, labels) in enumerate(loader):
        loss, parts = model(images.to(device), labels.to(device))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        mean = (mean * number + parts.detach()) / (number + 1)
        bar.set_description(("%9s" * 2 + "%9.4g" * 3) % ("train", number, *mean))  # expect: sync-every-step
