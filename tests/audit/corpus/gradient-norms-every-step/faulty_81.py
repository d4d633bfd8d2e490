def train(model, loader, optimizer, metrics, log_weight_grads: bool = False):
    for x in loader:
        model(x.cuda()).mean().backward()
        if log_weight_grads:
            for name, p in model.named_parameters():
                metrics[name] += p.grad.norm().item()  # expect: gradient-norms-every-step@note
        optimizer.step()
        optimizer.zero_grad()


def train_and_log(model, loader, optimizer, metrics, log_weight_grads: bool = True):
    for x in loader:
        model(x.cuda()).mean().backward()
        if log_weight_grads:
            for name, p in model.named_parameters():
                metrics[name] += p.grad.norm().item()  # expect: gradient-norms-every-step@warning
        optimizer.step()
        optimizer.zero_grad()
