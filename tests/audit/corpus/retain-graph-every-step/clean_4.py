class Optimizer:
    """Differentiates too: a loss that was kept for it goes through its own way to `backward()`."""

    def __init__(self, optimizer):
        self.optimizer = optimizer

    def step(self, loss, **options):
        self.optimizer.zero_grad()
        loss.backward(**options)
        self.optimizer.step()


def learn(batches, actor, critics, temperature, actor_optim, critic_optims, temperature_optim):
    for batch in batches:
        losses = [critic(batch).mean() for critic in critics]
        temperature_loss = -temperature.exp() * sum(losses)
        temperature_optim.zero_grad()
        temperature_loss.backward(retain_graph=True)
        temperature_optim.step()
        critic_optims.first.step(losses[0], retain_graph=True)
        critic_optims.second.step(losses[1])
        actor_optim.step(-actor(batch).mean())
