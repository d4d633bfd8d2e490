import torch
from torch import nn


def loss_of(logits, labels):
    """Shapes, numbers of dimensions and dtypes are known on the host, also of what a model gives."""
    if logits.shape[:-1] != labels.shape:
        raise ValueError("shapes differ")
    if logits.is_cpu:
        logits = logits.double()
    if logits.ndim == 3:
        logits = logits.flatten(0, 1)
    if logits.dtype != torch.float32 and logits.size(0) > 1:
        logits = logits.float()
    return nn.functional.cross_entropy(logits, labels.flatten())


def train(model: nn.Module, teacher: nn.Module, loader, optimizer):
    model.cuda()
    for tokens, labels in loader:
        tokens, labels = tokens.cuda(non_blocking=True), labels.cuda(non_blocking=True)
        loss = loss_of(model(tokens), labels)
        if model != teacher:
            loss = loss + loss_of(teacher(tokens), labels)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


def distil(build, loader):
    """Modules compare by what they are, wherever they stand."""
    student, teacher = build().cuda(), nn.Linear(8, 2).cuda()
    optimizer = torch.optim.AdamW(student.parameters())
    for inputs, labels in loader:
        inputs, labels = inputs.cuda(non_blocking=True), labels.cuda(non_blocking=True)
        loss = loss_of(student(inputs), labels)
        if teacher != student:
            loss = loss + loss_of(teacher(inputs), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
