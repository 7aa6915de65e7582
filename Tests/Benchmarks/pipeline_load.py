"""Posts prepared bodies, each until it was answered well; prints what came of it as JSON.

usage: pipeline_load.py URL CONNECTIONS RATE SECONDS BODIES MARK      BODIES: a file, a body a line

RATE 0 is a closed loop: each connection posts the next purchase as soon as it has its answer. Another RATE is an open loop: so many
purchases a second become due whatever is answered, and what a purchase waited for a free connection is in its latency. The
environment's PIPELINE_AUTHORIZATION is sent as the header of that name. An answer is good when it is a success and has the bytes
MARK. In an open loop a purchase that was not answered well is posted again, as an app does. After SECONDS, or when there are no more
bodies, nothing new is sent and what was sent is waited for. It runs beside what it measures on the same cores, so it is one
thread on bare sockets, and prints what it used.
"""

import collections
import gc
import json
import mmap
import os
import re
import select
import socket
import sys
import time
import urllib.parse

ANSWER_SECONDS = 40.0  # That no answer at all may come for; intake answers within its wait of 20 s.
ANSWER_BYTES = 65536  # Of one answer, at most.
FAILURES_TOLD = 5  # Kinds of failures that are told apart.
AGAIN_SECONDS = 0.2  # Until a purchase that was not answered well is posted again.
LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)\r\n", re.IGNORECASE)


class Failure(Exception):
    """What came is no good answer."""


class Purchase:
    """A body, and when it was due."""

    def __init__(self, body, due):
        self.body, self.due, self.when = body, due, due


class Connection:
    """One connection, and the purchase that was posted on it."""

    def __init__(self, address):
        self.address, self.socket, self.received, self.purchase = address, None, b"", None

    def post(self, head, purchase):
        if not self.socket:
            self.socket = socket.create_connection(self.address, timeout=ANSWER_SECONDS)
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.received, self.purchase = b"", purchase
        self.socket.sendall(b"%s%d\r\n\r\n%s" % (head, len(purchase.body), purchase.body))

    def answer(self):
        """The whole answer, or nothing as long as a part of it is missing."""
        data = self.socket.recv(ANSWER_BYTES)
        if not data:
            raise Failure("the connection was closed")
        self.received = received = self.received + data if self.received else data
        end = received.find(b"\r\n\r\n")
        if end < 0:
            return None
        length = LENGTH.search(received, 0, end + 2)
        if not length or int(length[1]) > ANSWER_BYTES:
            raise Failure("an answer has no length, or is too long")
        return received if len(received) >= end + 4 + int(length[1]) else None

    def close(self):
        if self.socket:
            self.socket.close()
        self.socket = None


class Load:
    """The connections, and what they were answered."""

    def __init__(self, url, rate, bodies, mark):
        self.url, self.rate, self.bodies, self.mark = urllib.parse.urlsplit(url), rate, bodies, mark.encode()
        target = self.url.path + ("?" + self.url.query if self.url.query else "")
        self.head = (f"POST {target} HTTP/1.1\r\nHost: {self.url.netloc}\r\nContent-Type: application/json\r\n"
                     f"Authorization: {os.environ['PIPELINE_AUTHORIZATION']}\r\nContent-Length: ").encode()
        self.posted, self.answers, self.failures, self.ran_out = 0, [], {}, False
        self.again, self.poll = collections.deque(), select.epoll()

    def next(self, now, began, until):
        """The purchase that is due; nothing when none is."""
        if self.again and self.again[0].when <= now:
            return self.again.popleft()
        due = began + self.posted / self.rate if self.rate else now
        if due > now or due >= until or self.ran_out:
            return None
        body = self.bodies.readline().rstrip(b"\n")
        if not body:
            self.ran_out = True
            return None
        self.posted += 1
        return Purchase(body, due)

    def pause(self, now, began, until):
        """Seconds until the next purchase is due."""
        due = [self.again[0].when] if self.again else []
        if self.rate and not self.ran_out and began + self.posted / self.rate < until:
            due.append(began + self.posted / self.rate)
        return max(0.0, min(due) - now) if due else ANSWER_SECONDS

    def judge(self, answer):
        if answer.startswith(b"HTTP/1.1 2") and self.mark in answer:
            return
        status, _, body = answer.partition(b"\r\n")[0], *answer.partition(b"\r\n\r\n")[1:]
        raise Failure(f"{status.decode(errors='replace')}: {body[:160].decode(errors='replace')}")

    def fail(self, purchase, error):
        text = str(error)
        kind = text if text in self.failures or len(self.failures) < FAILURES_TOLD else "others"
        self.failures[kind] = self.failures.get(kind, 0) + 1
        if self.rate:
            purchase.when = time.perf_counter() + AGAIN_SECONDS
            self.again.append(purchase)

    def post(self, connection, purchase):
        """Whether it is on its way."""
        was_open = connection.socket is not None
        try:
            connection.post(self.head, purchase)
        except OSError as error:
            self.drop(connection)
            self.fail(purchase, error)
            return False
        if not was_open:
            self.poll.register(connection.socket.fileno(), select.EPOLLIN)
        return True

    def drop(self, connection):
        if connection.socket:
            try:
                self.poll.unregister(connection.socket.fileno())
            except OSError:
                pass  # It was never registered.
        connection.close()

    def take(self, connection):
        """Whether the connection is free again."""
        try:
            answer = connection.answer()
            if answer is None:
                return False
            self.judge(answer)
        except (OSError, Failure) as error:
            if not str(error).startswith("HTTP/"):
                self.drop(connection)
            self.fail(connection.purchase, error)
            return True
        now = time.perf_counter()
        self.answers.append((now, now - connection.purchase.due))
        return True

    def run(self, count, seconds):
        """Seconds until the last answer, and of the processor."""
        free = [Connection((self.url.hostname, self.url.port)) for _ in range(count)]
        busy = {}
        used, self.began = time.process_time(), time.perf_counter()
        until = self.began + seconds
        last = until + ANSWER_SECONDS
        while (now := time.perf_counter()) < last:
            while free and (purchase := self.next(now, self.began, until)):
                if not self.post(free[-1], purchase):
                    break
                connection = free.pop()
                busy[connection.socket.fileno()] = connection
            pause = self.pause(now, self.began, until)
            if not busy and pause == ANSWER_SECONDS:
                break
            for descriptor, _ in self.poll.poll(min(pause, last - now) if free else last - now):
                if descriptor not in busy:  # The other side closes what nothing was posted on.
                    self.drop(next(one for one in free if one.socket and one.socket.fileno() == descriptor))
                elif self.take(busy[descriptor]):
                    free.append(busy.pop(descriptor))
        for connection in busy.values():
            self.fail(connection.purchase, f"no answer within {ANSWER_SECONDS:.0f} s")
        return time.perf_counter() - self.began, time.process_time() - used

    def longest_gap(self):
        """Seconds between two good answers, at most."""
        times = [self.began, *(when for when, _ in self.answers)]
        return max((b - a for a, b in zip(times, times[1:])), default=0.0)


def quantile(ordered, share):
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] * 1000 if ordered else 0.0


def main():
    url, connections, rate, seconds, bodies, mark = sys.argv[1:]
    gc.disable()  # Nothing here refers to itself; a collection would be a pause in every latency.
    with open(bodies, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as mapped:
        load, started = Load(url, int(rate), mapped, mark), time.time()
        lasted, used = load.run(int(connections), float(seconds))
    ordered = sorted(latency for _, latency in load.answers)
    print(json.dumps({
        "posted": load.posted, "granted": len(ordered), "failures": load.failures, "ran_out": load.ran_out,
        "started": started, "seconds": lasted, "processor_seconds": used, "longest_gap_seconds": load.longest_gap(),
        "p50_ms": quantile(ordered, 0.5), "p99_ms": quantile(ordered, 0.99), "p999_ms": quantile(ordered, 0.999)}))


if __name__ == "__main__":
    main()
