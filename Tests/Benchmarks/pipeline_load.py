"""Posts prepared bodies, each once, as fast as so many connections are answered; prints what came of it as JSON.

usage: pipeline_load.py URL CONNECTIONS SECONDS BODIES MARK      BODIES: a file, a body a line

The environment's PIPELINE_AUTHORIZATION is sent as the header of that name. An answer is good when it is a success and
has the bytes MARK. After SECONDS, or when there are no more bodies, nothing is sent any more and what was sent is waited
for. It runs beside what it measures on the same cores, so it is one thread on bare sockets, and prints what it used.
"""

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
LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)\r\n", re.IGNORECASE)


class Answer(Exception):
    """What came is not an answer that is understood."""


class Connection:
    """One connection; it posts, is answered, and posts again."""

    def __init__(self, host, port):
        self.socket = socket.create_connection((host, port), timeout=ANSWER_SECONDS)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.received, self.began = b"", 0.0

    def post(self, request):
        self.received, self.began = b"", time.perf_counter()
        self.socket.sendall(request)  # Some kilobytes, which the socket's buffer holds.

    def answer(self):
        """The whole answer, or nothing as long as a part of it is missing."""
        data = self.socket.recv(ANSWER_BYTES)
        if not data:
            raise Answer("the connection was closed")
        self.received = received = self.received + data if self.received else data
        end = received.find(b"\r\n\r\n")
        if end < 0:
            return None
        length = LENGTH.search(received, 0, end + 2)
        if not length or int(length[1]) > ANSWER_BYTES:
            raise Answer("an answer has no length, or is too long")
        return received if len(received) >= end + 4 + int(length[1]) else None


class Load:
    """The connections, and what they were answered."""

    def __init__(self, url, bodies, mark):
        self.url, self.mark, self.bodies = urllib.parse.urlsplit(url), mark.encode(), bodies
        target = self.url.path + ("?" + self.url.query if self.url.query else "")
        self.head = (f"POST {target} HTTP/1.1\r\nHost: {self.url.netloc}\r\nContent-Type: application/json\r\n"
                     f"Authorization: {os.environ['PIPELINE_AUTHORIZATION']}\r\nContent-Length: ").encode()
        self.posted, self.latencies, self.failures, self.ran_out = 0, [], {}, False

    def request(self):
        """The next; nothing when there is none any more."""
        body = self.bodies.readline().rstrip(b"\n")
        if not body:
            self.ran_out = True
            return None
        self.posted += 1
        return b"%s%d\r\n\r\n%s" % (self.head, len(body), body)

    def judge(self, answer):
        if answer.startswith(b"HTTP/1.1 2") and self.mark in answer:
            return
        status, _, body = answer.partition(b"\r\n")[0], *answer.partition(b"\r\n\r\n")[1:]
        self.fail(f"{status.decode(errors='replace')}: {body[:160].decode(errors='replace')}")

    def fail(self, text):
        kind = text if text in self.failures or len(self.failures) < FAILURES_TOLD else "others"
        self.failures[kind] = self.failures.get(kind, 0) + 1

    def run(self, count, seconds):
        """Seconds until the last answer, and of the processor."""
        connections = [Connection(self.url.hostname, self.url.port) for _ in range(count)]
        descriptors = {one.socket.fileno(): one for one in connections}
        poll = select.epoll()
        for descriptor in descriptors:
            poll.register(descriptor, select.EPOLLIN)
        used, began = time.process_time(), time.perf_counter()
        until, waiting = began + seconds, 0
        for connection in connections:
            waiting += self.post_next(connection)
        while waiting:
            events = poll.poll(ANSWER_SECONDS)
            if not events:
                for _ in range(waiting):
                    self.fail(f"no answer within {ANSWER_SECONDS:.0f} s")
                break
            for descriptor, _ in events:
                connection = descriptors[descriptor]
                try:
                    answer = connection.answer()
                except (OSError, Answer) as error:
                    self.fail(str(error))
                    poll.unregister(descriptor)
                    waiting -= 1
                    continue
                if answer is None:
                    continue
                now = time.perf_counter()
                self.latencies.append(now - connection.began)
                self.judge(answer)
                waiting -= 1 if now >= until or not self.post_next(connection) else 0
        return time.perf_counter() - began, time.process_time() - used

    def post_next(self, connection):
        request = self.request()
        if request is None:
            return False
        connection.post(request)
        return True


def quantile(ordered, share):
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


def main():
    url, connections, seconds, bodies, mark = sys.argv[1:]
    gc.disable()  # Nothing here refers to itself; a collection would be a pause in every latency.
    with open(bodies, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as mapped:
        load, started = Load(url, mapped, mark), time.time()
        lasted, used = load.run(int(connections), float(seconds))
    ordered = sorted(load.latencies)
    print(json.dumps({
        "posted": load.posted, "answered": len(ordered), "failures": load.failures, "ran_out": load.ran_out,
        "started": started, "seconds": lasted, "processor_seconds": used,
        "p50_ms": quantile(ordered, 0.5) * 1000, "p99_ms": quantile(ordered, 0.99) * 1000}))


if __name__ == "__main__":
    main()
