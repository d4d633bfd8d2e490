import torch


def train(model, loader, optimizer, debug=False, rank=0):
    for step, (x, y) in enumerate(loader):
        loss = torch.nn.functional.mse_loss(model(x.cuda()), y.cuda())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if loss is None:
            continue
        if step > 0 and step % 200 == 0:
            if rank == 0:
                print(step, loss.item())
        if debug:
            print("shape", tuple(x.shape), loss.dtype, loss.requires_grad, loss.device)
