import torch


def wrap(args, model):
    if args.distributed:
        model = torch.nn.parallel.DistributedDataParallel(model, device_ids=[args.gpu])
    else:
        model = torch.nn.DataParallel(model).cuda()  # expect: data-parallel
    return model


def replicated(module, inputs, devices):
    return torch.nn.parallel.data_parallel(module, inputs, devices)  # expect: data-parallel
