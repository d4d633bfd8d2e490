import torch
import torchvision


def train(loader):
    """Detection: each image has its own size, and searching anew for each would be slower."""
    model = torchvision.models.detection.fasterrcnn_resnet50_fpn().cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    for images, targets in loader:
        images = [image.cuda() for image in images]
        losses = model(images, targets)
        sum(losses.values()).backward()
        optimizer.step()
        optimizer.zero_grad()


def reproducible(loader):
    torch.backends.cudnn.deterministic = True
    net = torch.nn.Conv2d(3, 8, 3).cuda()
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for x in loader:
        net(x.cuda()).mean().backward()
        opt.step()
