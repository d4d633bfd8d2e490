import torch
import torchvision


def main(loader):
    model = torchvision.models.resnet50().cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    criterion = torch.nn.CrossEntropyLoss().cuda()
    for images, labels in loader:
        output = model(images.cuda(non_blocking=True))  # expect: no-mixed-precision@note
        loss = criterion(output, labels.cuda(non_blocking=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
