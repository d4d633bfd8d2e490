import lightning
from accelerate import Accelerator


def every_step(model, optimizer, scheduler, loader):
    """Each backward pass has its step: every exchange is needed."""
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for number, batch in enumerate(loader):
        accelerator.backward(model(**batch).loss)
        optimizer.step()
        optimizer.zero_grad()
        if number % 100 == 0:
            scheduler.step()


def held_back(model, optimizer, loader, several=4):
    fabric = lightning.Fabric(devices=8)
    model, optimizer = fabric.setup(model, optimizer)
    for number, batch in enumerate(loader):
        waits = (number + 1) % several != 0
        with fabric.no_backward_sync(model, enabled=waits):
            fabric.backward(model(batch) / several)
        if not waits:
            optimizer.step()
            optimizer.zero_grad()


def by_hand(fabric, agent, optimizer, batches, weights):
    """Fabric wraps no model here; gradients are averaged once, after the last pass."""
    for batch in batches:
        for part in batch:
            fabric.backward(agent(part).mean(), inputs=weights)
        for each in weights:
            fabric.all_reduce(each.grad)
        optimizer.step()
        optimizer.zero_grad()
