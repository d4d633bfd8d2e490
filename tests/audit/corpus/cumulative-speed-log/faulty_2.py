from time import perf_counter


class Loop:
    def __init__(self, model, optimizer, logger):
        self.model, self.optimizer, self.logger = model, optimizer, logger
        self.t0 = perf_counter()
        self.tokens = 0

    def run(self, batches):
        for step, batch in enumerate(batches):
            self.model(batch.cuda()).mean().backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
            self.tokens += batch.numel()
            elapsed = perf_counter() - self.t0
            speed = self.tokens / elapsed  # expect: cumulative-speed-log
            self.logger.info("step %d, %.0f tokens/s", step, speed)
