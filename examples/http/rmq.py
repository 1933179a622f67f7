"""RMQ over HTTP, with nothing but Python's own library (3.8 or newer). Copy this file.

    import rmq
    client = rmq.Client()                         # RMQ_URL and RMQ_TOKEN say where, and who
    client.send("orders", {"content": "order 4711", "priority": 500})
    client.work(["orders"], handle)               # handle(message, batch) is yours
"""
import http.client
import json
import logging
import os
import random
import socket
import ssl
import threading
import time
import urllib.parse

log = logging.getLogger("rmq")  # warnings go to stderr, if you set up nothing else


class Problem(Exception):
    """What the gateway says if it does not do something."""

    def __init__(self, status, body):
        super().__init__(body.get("detail") or "status %d" % status)
        self.status, self.body = status, body


class Failed(Exception):
    """Raise it in a handler: the message comes again, after `again` if that is given, such as "10m"."""

    def __init__(self, why, again=None):
        super().__init__(why)
        self.again = again


class Dead(Exception):
    """Raise it in a handler: the message is not worth another try."""


class Client:
    def __init__(self, url=None, token=None, patience=120):
        url = url or os.environ.get("RMQ_URL", "http://localhost:8080")
        self.url = urllib.parse.urlsplit(url.rstrip("/"))
        if self.url.scheme not in ("http", "https") or not self.url.hostname:
            raise ValueError("RMQ_URL is %r; it must be one such as http://localhost:8080" % url)
        self.token = token or os.environ.get("RMQ_TOKEN")
        self.patience = patience  # seconds for which a call is tried again while no gateway can do it
        self.limit = 90  # seconds for the whole of one answer; a take waits for 60 at the most
        self.local = threading.local()  # a connection for each thread
        self.waiting = False  # for a batch: then a signal may end the program

    def send(self, topic, message):
        """Sends one message: {"content": …} and priority, range, in or at, as the topic's kind needs."""
        return self.call("POST", self.path(topic), message)

    def send_many(self, topic, messages):
        """Sends up to 1,000 messages; the answer has a result for each."""
        return self.call("POST", self.path(topic), {"messages": messages})

    def take(self, topics, ttr="60s", wait="20s", most=1):
        """Takes a batch from the first topic that has something, or returns None if nothing came."""
        return self.call("POST", "/v1/take", {"topics": topics, "ttr": ttr, "wait": wait, "most": most})

    def work(self, topics, handle, ttr="60s", stop=None):
        """Handles messages one by one until stop is set: a threading.Event."""
        stop = stop or threading.Event()
        while not stop.is_set():
            self.waiting = True
            batch = self.take(topics, ttr)
            self.waiting = False
            if batch:
                self.handle(batch, handle, ttr)

    def handle(self, batch, handle, ttr):
        receipt, done = {"receipt": batch["receipt"]}, threading.Event()
        beat = threading.Thread(target=self.beat, args=(receipt, seconds(ttr) / 3, done))
        beat.start()
        try:
            for message in batch["messages"]:
                handle(message, batch)
            result = ("/v1/finish", receipt)
        except Failed as e:
            result = ("/v1/fail", dict(receipt, why=plain(e), **({"in": e.again} if e.again else {})))
        except Dead as e:
            result = ("/v1/fail", dict(receipt, why=plain(e), outcome="dead"))
        except Exception as e:
            log.warning("a message of %s failed", batch["topic"], exc_info=True)
            result = ("/v1/fail", dict(receipt, why="%s: %s" % (type(e).__name__, plain(e))))
        finally:
            done.set()
            beat.join()
        return self.call("POST", *result)["counted"]

    def beat(self, receipt, every, done):
        """Keeps a batch while its handler runs. If it is lost, the handler's work does not count."""
        while not done.wait(every):
            try:
                if not self.call("POST", "/v1/extend", receipt)["held"]:
                    return
            except (Problem, OSError):
                pass  # the next one may come through

    def call(self, method, path, body=None):
        """One request. It is repeated while no gateway can do it: sends merge, and a finish counts once."""
        over, pause, failures = time.monotonic() + self.patience, 0.1, 0
        while True:
            try:
                return self.ask(method, path, body)
            except (OSError, http.client.HTTPException, Problem) as e:
                self.hang_up()
                if isinstance(e, Problem) and e.status not in (429, 503) or time.monotonic() > over:
                    raise
                failures += 1
                if failures == 2:  # the first may be a connection that was idle for too long
                    log.warning("%s%s: %s; it is tried again for %d s", self.url.geturl(), path, e, self.patience)
            time.sleep(pause * random.uniform(0.5, 1))
            pause = min(2 * pause, 2)

    def ask(self, method, path, body):
        connection = getattr(self.local, "connection", None)
        if not connection:
            kind = http.client.HTTPSConnection if self.url.scheme == "https" else http.client.HTTPConnection
            connection = self.local.connection = kind(self.url.hostname, self.url.port, timeout=self.limit)
        if not connection.sock:
            connection.connect()
        over = threading.Timer(self.limit, cut, [connection.sock])
        over.daemon = True
        over.start()
        try:
            return self.exchange(connection, method, path, body)
        finally:
            over.cancel()

    def exchange(self, connection, method, path, body):
        headers = {"Content-Type": "application/json"}
        if self.token:
            headers["Authorization"] = "Bearer " + self.token
        try:
            connection.request(method, self.url.path + path, None if body is None else json.dumps(body), headers)
        except (ConnectionError, ssl.SSLError):
            pass  # what is too long is answered before it has come whole
        answer = connection.getresponse()
        text = answer.read()
        if answer.status == 204:
            return None
        try:
            found = json.loads(text)
        except ValueError:
            found = None
        if not isinstance(found, dict):  # http.client takes an answer that ends in its headers for a whole one
            if answer.status < 300:
                raise http.client.HTTPException("an answer that is cut, or not of a gateway")
            found = {"detail": text.decode(errors="replace")}
        if answer.status >= 300:
            raise Problem(answer.status, found)
        return found

    def hang_up(self):
        if getattr(self.local, "connection", None):
            self.local.connection.close()
            self.local.connection = None

    @staticmethod
    def path(topic):
        return "/v1/topics/%s/messages" % urllib.parse.quote(topic, safe="")


def cut(sock):
    """Ends an answer that takes too long, also one that comes byte by byte."""
    try:
        socket.socket.shutdown(sock, socket.SHUT_RDWR)  # not that of ssl, which forgets what another thread reads from
    except OSError:
        pass  # it has ended


def plain(error):
    """What an error says. Names of files may have bytes that are not UTF-8, which the gateway does not take."""
    return str(error).encode("utf-8", "replace").decode()


def seconds(span):
    """A duration of one number and one unit: "90s", "5m", "1h"."""
    return float(span[:-1]) * {"s": 1, "m": 60, "h": 3600}[span[-1]]
