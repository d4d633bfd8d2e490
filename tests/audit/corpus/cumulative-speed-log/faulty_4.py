import time
from datetime import datetime


def a(model, loader, optimizer):
    start = time.time()
    seen = 0
    for step, x in enumerate(loader):
        model(x.cuda()).mean().backward()
        optimizer.step()
        seen += len(x)
        if step % 10 == 0:
            print(seen / (time.time() - start))  # expect: cumulative-speed-log


class B:
    def fit(self, loader):
        self.t0 = time.perf_counter()
        for i, x in enumerate(loader):
            self.model(x.cuda()).mean().backward()
            self.optimizer.step()
            elapsed = time.perf_counter() - self.t0
            rate = (i + 1) * 32 / elapsed  # expect: cumulative-speed-log
            self.log(rate)
