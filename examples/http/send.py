"""Sends a message, or the lines of stdin as messages, to a topic with priorities.

    python3 send.py orders 500 "order 4711"
    python3 send.py orders 500 < contents.txt
"""
import sys

import rmq


def main(topic, priority, content=None):
    client = rmq.Client()
    if content is not None:
        print(client.send(topic, {"content": content, "priority": int(priority)})["outcome"])
        return
    batch = []
    for line in sys.stdin:
        batch.append({"content": line.rstrip("\n"), "priority": int(priority)})
        if len(batch) == 500:
            report(client.send_many(topic, batch))
            batch = []
    if batch:
        report(client.send_many(topic, batch))


def report(answer):
    print("%(stored)d stored, %(merged)d merged, %(failed)d failed" % answer)


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    main(*sys.argv[1:])
