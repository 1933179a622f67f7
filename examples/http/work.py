"""Handles the messages of some topics, one at a time, until Ctrl-C or SIGTERM.

    python3 work.py orders mails
"""
import signal
import sys
import threading

import rmq


def handle(message, batch):
    """Your work. What it raises is why the message failed; it comes again then, 17 times in all."""
    print("%s slot %d, attempt %d: %s" % (batch["topic"], batch["slot"], batch["attempt"], message["content"]), flush=True)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    client, stop = rmq.Client(), threading.Event()

    def end(*_):
        stop.set()
        if client.waiting:
            sys.exit()  # the gateway sees it, and gives nothing to who has gone

    for s in (signal.SIGINT, signal.SIGTERM):
        signal.signal(s, end)
    client.work(sys.argv[1:], handle, stop=stop)
