import torch
import torchvision
from torchvision import transforms


def main(dataset):
    size = transforms.Compose([transforms.RandomResizedCrop(224), transforms.ToTensor()])
    dataset.transform = size
    model = torchvision.models.resnet50().cuda()
    loader = torch.utils.data.DataLoader(dataset, batch_size=128, shuffle=True, num_workers=8, drop_last=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for images, labels in loader:  # expect: cudnn-benchmark-unset@note
        loss = torch.nn.functional.cross_entropy(model(images.cuda()), labels.cuda())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
