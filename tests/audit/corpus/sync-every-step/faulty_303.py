import torch


def fit(students, optimizers, x, y, epochs):
    """No loop over batches stands around: each student's turn is a step."""
    for student in students:
        student.cuda()
    for _ in range(epochs):
        for student, optimizer in zip(students, optimizers, strict=True):
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(student(x.cuda()), y.cuda())
            loss.backward()
            optimizer.step()
            print(loss.item())  # expect: sync-every-step@note


def repeat(critic, optimizer, loader, times):
    """Several steps for each batch, of one learner: each is a step."""
    critic.cuda()
    for x, y in loader:
        for _ in range(times):
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(critic(x.cuda()), y.cuda())
            loss.backward()
            optimizer.step()
            print(loss.item())  # expect: sync-every-step@note
