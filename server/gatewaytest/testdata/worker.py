"""A worker that a test may kill: it writes down what it handles. worker.py NAME LOG TOPIC."""
import json
import os
import sys
import time

import rmq

name, path, topic = sys.argv[1:]
log = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o644)


def write(kind, message, batch):
    fields = [time.time_ns(), name, kind, batch["topic"], batch["slot"], batch["fence"], batch["attempt"], 0, json.dumps(message["content"]), '""']
    os.write(log, ("\t".join(map(str, fields)) + "\n").encode())


def handle(message, batch):
    write("start", message, batch)
    time.sleep(0.002)
    write("done", message, batch)


rmq.Client().work([topic], handle, ttr="30s")
