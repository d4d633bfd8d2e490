from accelerate import Accelerator
from micro_steps import contexts_of


def train(model, optimizer, batches, micro_steps, updates):
    """A context of another package is around each pass: it may hold the exchange back."""
    accelerator = Accelerator()
    model, optimizer, batches = accelerator.prepare(model, optimizer, batches)
    source = iter(batches)
    for _ in range(updates):
        for context in contexts_of(accelerator, model, micro_steps):
            with context():
                loss = model(next(source))
                accelerator.backward(loss / micro_steps)  # expect: allreduce-every-micro-step@note
        optimizer.step()
        optimizer.zero_grad()
