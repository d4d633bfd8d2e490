"""Methods of the same names that write to no database."""
import torch


class Executor:
    def execute(self, job):
        return job()

    def commit(self):
        return None


def run(jobs):
    executor = Executor()
    for job in jobs:
        executor.execute(job)
        executor.commit()


def options(parser, settings, values: set):
    for key, value in settings.items():
        parser.set(key, value)
        values.add(key)


def session(graph, feeds, sess):
    for feed in feeds:
        sess.run(graph, feed_dict=feed)
    return torch.zeros(1)


def orm(engine, objects):
    from sqlalchemy.orm import Session

    with Session(engine) as db:
        for item in objects:
            db.add(item)
        db.commit()
