from accelerate import Accelerator


def main(model, optimizer, loader):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        loss = model(**batch).loss
        accelerator.backward(loss, retain_graph=True)  # expect: retain-graph-every-step
        optimizer.step()
        optimizer.zero_grad()
