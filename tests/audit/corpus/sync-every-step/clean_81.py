import torch


class Agent:
    def evaluate(self, states, actions):
        states, actions = states.to(self.device), actions.to(self.device)
        return self.value(states), self.score(actions).to("cpu", non_blocking=True), self.entropy(states).to("cpu", non_blocking=True)

    def update(self):
        for rollout in self.rollout.get(self.batch_size):
            values, log_prob, entropy = self.evaluate(rollout.observations, rollout.actions)
            policy_loss = -(rollout.advantages * torch.exp(log_prob - rollout.old)).mean()
            self.logs["policy"].append(policy_loss.item())
            entropy_loss = -torch.mean(entropy)
            self.logs["entropy"].append(entropy_loss.item())
            actor_loss = policy_loss + 0.01 * entropy_loss
            self.optimizer.zero_grad()
            actor_loss.backward()
            self.optimizer.step()


class Batches:
    def train(self):
        if self.searches:

            def step(batch):
                return self.run_batch(batch)

            size, _ = find_good_batch_size(self.loader, step, device="cuda")
            found = torch.tensor(size, device="cuda")
            torch.distributed.broadcast(found, src=0)
            self.size = int(found.item())
        for batch in self.loader:
            self.run_batch(batch)

    def run_batch(self, batch):
        loss = self.model(batch.cuda()).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


def fit(args, model, loader):
    Batches(args, model, loader).train()
