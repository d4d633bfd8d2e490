"""A state is written after each machine was started, which takes minutes: that is no load of writes; rows are one."""

import subprocess

import redis

store = redis.Redis()


def note(name, state):
    store.set(name, state)


def start(name, image, ports):
    subprocess.run(["podman", "pull", image], check=True)
    subprocess.run(["podman", "create", "--name", name, image], check=True)
    note(name, "ready")


def start_all(names, image):
    for name in names:
        start(name, image, [8000])  # expect: per-item-database-writes@note


def keep(rows):
    for key, value in rows:
        store.set(key, value)  # expect: per-item-database-writes@warning
