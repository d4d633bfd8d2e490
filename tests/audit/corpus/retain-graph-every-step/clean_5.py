import torch


class Learner:
    """The graph that is kept belongs to a loss that whoever calls differentiates with another."""

    def __init__(self, actor, critic, optimizer, other):
        self.actor, self.critic = actor, critic
        self.optimizer, self.other = optimizer, other

    def update_weight(self, distance):
        self.other.zero_grad()
        loss = -distance
        loss.backward(retain_graph=True)
        self.other.step()

    def loss_of(self, x):
        distance = self.critic(x).mean()
        self.update_weight(distance)
        return self.actor(x).mean() + distance


def train(learner: Learner, batches):
    for x in batches:
        learner.loss_of(torch.as_tensor(x).cuda())


def update_scale(distance, optimizer):
    """The same, called from elsewhere."""
    loss = -distance
    loss.backward(retain_graph=True)
    optimizer.step()
