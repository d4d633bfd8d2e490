import gc
from gc import collect


def clean():
    gc.collect()  # expect: garbage-collection-every-step


def a(model, loader, optimizer):
    for x in loader:
        model(x.cuda()).mean().backward()
        optimizer.step()
        gc.collect()  # expect: garbage-collection-every-step
        collect()  # expect: garbage-collection-every-step


class B:
    def step(self, x):
        loss = self.model(x.cuda()).mean()
        loss.backward()
        self.optimizer.step()
        del loss
        clean()

    def fit(self, loader):
        for x in loader:
            self.step(x)
