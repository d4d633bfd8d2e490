class Loop:
    """Runs with a launcher's object or without one; asking whether it is there reads no device."""

    def __init__(self, net, optimizer, fabric=None, accelerator=None):
        self.net = net.cuda()
        self.optimizer = optimizer
        self._fabric = fabric
        self._accelerator = accelerator
        self.scheduler = None

    def train(self, loader):
        for images, labels in loader:
            loss = self.net(images.cuda(), labels.cuda()).mean()
            if self._fabric:
                self._fabric.backward(loss)
            elif self._accelerator:
                self._accelerator.backward(loss)
            else:
                loss.backward()
            self.optimizer.step()
            if self._accelerator is not None and not self._accelerator.optimizer_step_was_skipped:
                self.scheduler.step()
            self.optimizer.zero_grad()


class Switched:
    """`self.extra_loss` says whether there is an extra loss; asking it reads no device."""

    def __init__(self, net, optimizer, weight):
        self.net, self.optimizer = net.cuda(), optimizer
        self.weight = weight
        self.extra_loss = self.weight > 1e-8

    def train(self, loader):
        for images, labels in loader:
            main_loss, extra_loss = self.net(images.cuda(), labels.cuda())
            if not self.extra_loss:
                extra_loss = 0
            loss = main_loss + self.weight * extra_loss
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
