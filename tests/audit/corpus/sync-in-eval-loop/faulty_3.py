import numpy as np
import torch
from sklearn.metrics import roc_auc_score


def validate(net, dl):
    net.eval()
    truth, scores = [], []
    with torch.no_grad():
        for x, y in dl:
            p = torch.sigmoid(net(x.cuda(non_blocking=True)))
            scores.extend(p.cpu().numpy())  # expect: sync-in-eval-loop
            truth.extend(y.numpy())
    return roc_auc_score(np.array(truth), np.array(scores))
