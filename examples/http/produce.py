"""A producer without a gateway: a send is one command of Redis. Standard library only.

    python3 produce.py orders 500 "order 4711"        # topics with priorities: how urgent
    python3 produce.py prices 10m "price of 4711"     # range-merge and fixed-time: in how long

It speaks to Redis at REDIS (127.0.0.1:6379), and needs a topic that is defined: a Go program, rmq send or the
gateway does that. Topics that are literal and merge, and those with notes, need a script: send to them by the
gateway. docs/PROTOCOL.md, "Sends", is what it follows; vectors.json is what it is tested with.
"""
import os
import socket
import sys
import zlib

UNITS = {"s": 1000, "m": 60000, "h": 3600000, "d": 86400000}


def slot(basis, slots):
    """The slot of a content, or of another text that you give for it."""
    return zlib.crc32(basis.encode()) % slots


def commands(topic, slots, kind, content, value, now, basis=None):
    """What sends a message: value is a priority, or in how many ms it is due; now is the time of Redis in ms."""
    n = slot(content if basis is None else basis, slots)
    store = "%s_%d" % (topic, n)
    if kind == "priority":
        add, due = ["ZADD", store, value, content], 0
    else:
        add, due = ["ZADD", store, now + value, content], value
        if kind == "range-merge":
            add.insert(2, "NX")  # the first time stays
    return [add, ["PUBLISH", "rmq:wake{%s}" % topic, "%d:%d" % (n, due)]]  # so that a worker looks at once


class Redis:
    """Just enough of the protocol of Redis."""

    def __init__(self, address):
        host, port = address.rsplit(":", 1)
        self.file = socket.create_connection((host, int(port)), timeout=10).makefile("rwb")

    def call(self, *words):
        words = [str(w).encode() for w in words]
        self.file.write(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words))
        self.file.flush()
        return self.answer()

    def answer(self):
        line = self.file.readline()
        kind, rest = line[:1], line[1:-2].decode()
        if kind == b"-":
            raise RuntimeError(rest)
        if kind == b"*":
            return [self.answer() for _ in range(int(rest))]
        if kind == b"$":
            return None if rest == "-1" else self.file.read(int(rest) + 2)[:-2].decode()
        if not kind:
            raise RuntimeError("Redis has closed the connection")
        return int(rest) if kind == b":" else rest


def main(topic, value, content):
    redis = Redis(os.environ.get("REDIS", "127.0.0.1:6379"))
    kind, slots, literal, notes, layout = redis.call(
        "HMGET", "rmq:def{%s}" % topic, "kind", "slots", "literal", "notes", "layout")
    if kind is None:
        sys.exit("there is no topic %s: define it by rmq send %s %s --kind …" % (topic, topic, content))
    if layout != "1" or notes == "1" or literal == "1" and kind == "range-merge":
        sys.exit("topic %s needs a script for each send: use the gateway" % topic)
    value = int(value) if kind == "priority" else int(float(value[:-1]) * UNITS[value[-1]])
    if kind == "priority" and not 17 <= value < 2**53:
        sys.exit("the priority must be 17 to 9007199254740991")
    seconds, micros = redis.call("TIME")
    now = int(seconds) * 1000 + int(micros) // 1000
    add, wake = commands(topic, int(slots), kind, content, value, now)
    print("stored" if redis.call(*add) else "merged")
    redis.call(*wake)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
