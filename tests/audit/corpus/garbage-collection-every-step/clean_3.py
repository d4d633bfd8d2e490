import gc


class Collection:
    def collect(self, item):
        return item


def train(model, loader, optimizer):
    gcs = Collection()
    for x in loader:
        model(gcs.collect(x).cuda()).mean().backward()
        optimizer.step()
        optimizer.zero_grad()


def over_models(makers):
    for make in makers:
        model = make()
        print(model)
        del model
        gc.collect()
