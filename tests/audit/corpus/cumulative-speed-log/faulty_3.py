import datetime as dt

import torch


def main(model, opt, loader, writer):
    begun = dt.datetime.now()
    for iteration, batch in enumerate(loader, 1):
        opt.zero_grad()
        model(batch.cuda()).mean().backward()
        opt.step()
        if iteration % 20 == 0:
            rate = iteration / (dt.datetime.now() - begun).total_seconds()  # expect: cumulative-speed-log
            writer.add_scalar("iterations_per_second", rate, iteration)
