import torch


def validate(net, dl):
    net.eval()
    parts, truth = [], []
    with torch.inference_mode():
        for x, y in dl:
            parts.append(net(x.cuda(non_blocking=True)))
            truth.append(y)
    scores = torch.cat(parts).float().cpu().numpy()
    return scores, torch.cat(truth).numpy()
