"""The updates end early by one number, which a method reads and gives back; of the others nothing asks."""


class Learner:
    def __init__(self, policy, optimizer, most):
        self.policy = policy.cuda()
        self.optimizer = optimizer
        self.most = most
        self.seen = {}

    def objective(self, states, actions, before):
        now = self.policy(states.cuda()).log_prob(actions)
        ratio = (now - before).exp()
        distance = (before - now).mean().item()  # expect: sync-every-step@note
        self.seen["ratio"] = float(ratio.mean())  # expect: sync-every-step@warning
        return -ratio.mean(), distance

    def fit(self, memory, turns):
        for _ in range(turns):
            loss, distance = self.objective(memory.states, memory.actions, memory.before)
            if distance > self.most:
                break
            loss.backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
            self.seen["loss"] = loss.item()  # expect: sync-every-step@warning
