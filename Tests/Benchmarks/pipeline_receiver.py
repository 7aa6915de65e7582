"""Receives webhooks for Tests/Benchmarks/pipeline: checks each signature, writes down when it came, and answers 204.

usage: pipeline_receiver.py HOST PORT SECRET_FILE OUTPUT      until SIGTERM

A studio's own receiver is no part of what is measured, as the load is none. So it is one thread on bare sockets, as that is.
OUTPUT gets a JSON object a line, `received_at` and `transaction_id`, as the stack's own receiver writes them among others.
"""

import base64
import datetime
import gc
import hashlib
import hmac
import json
import pathlib
import re
import select
import signal
import socket
import sys

REQUEST_BYTES = 1 << 20  # Of one request, at most.
READ_BYTES = 65536
BACKLOG = 128
HEADER = re.compile(rb"\r\n(content-length|webhook-id|webhook-timestamp|webhook-signature): *([^\r]*)", re.IGNORECASE)
TRANSACTION = re.compile(rb'"transaction_id" ?: ?"(\d+)"')
TAKEN = b"HTTP/1.1 204 No Content\r\n\r\n"
REFUSED = b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n"
READY = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"


class Receiver:
    """The connections, and what has come of a request on each."""

    def __init__(self, secrets, output):
        self.keys = [base64.b64decode(secret.removeprefix("whsec_")) for secret in secrets]
        self.output, self.connections, self.received = output, {}, {}

    def take(self, data):
        """The answer to the first request in the data and what follows it; nothing as long as it is not whole."""
        end = data.find(b"\r\n\r\n")
        if end < 0:
            return (None, data)
        headers = {name.lower(): value for name, value in HEADER.findall(data, 0, end + 2)}
        whole = end + 4 + int(headers.get(b"content-length", 0))
        if whole > REQUEST_BYTES:
            raise ValueError("a request is too long")
        if len(data) < whole:
            return (None, data)
        return (self.judge(headers, data[end + 4:whole]) if data.startswith(b"POST ") else READY, data[whole:])

    def judge(self, headers, body):
        """The signature as Standard Webhooks has it."""
        signed = b"%s.%s.%s" % (headers.get(b"webhook-id", b""), headers.get(b"webhook-timestamp", b""), body)
        wanted = {b"v1," + base64.b64encode(hmac.digest(key, signed, hashlib.sha256)) for key in self.keys}
        if not wanted & set(headers.get(b"webhook-signature", b"").split(b" ")):
            return REFUSED
        transaction = TRANSACTION.search(body)
        now = datetime.datetime.now(datetime.timezone.utc).isoformat()
        line = {"received_at": now, "transaction_id": transaction[1].decode() if transaction else None}
        self.output.write(json.dumps(line) + "\n")
        return TAKEN

    def serve(self, listener):
        poll = select.epoll()
        poll.register(listener.fileno(), select.EPOLLIN)
        while True:
            for descriptor, _ in poll.poll():
                if descriptor == listener.fileno():
                    connection, _ = listener.accept()
                    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    self.connections[connection.fileno()], self.received[connection.fileno()] = connection, b""
                    poll.register(connection.fileno(), select.EPOLLIN)
                elif not self.read(descriptor):
                    poll.unregister(descriptor)
                    self.connections.pop(descriptor).close()
                    del self.received[descriptor]
            self.output.flush()  # Once for all that came together.

    def read(self, descriptor):
        """Answers what is whole; false when the connection is over."""
        connection = self.connections[descriptor]
        try:
            data = connection.recv(READ_BYTES)
            if not data:
                return False
            answer, rest = self.take(self.received[descriptor] + data)
            while answer:
                connection.sendall(answer)
                answer, rest = self.take(rest)
        except (OSError, ValueError):
            return False
        self.received[descriptor] = rest
        return True


def main():
    host, port, secrets, output = sys.argv[1:]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    gc.disable()  # As in the load: a collection would be a pause.
    with open(output, "a", encoding="utf-8") as file, socket.create_server((host, int(port)), backlog=BACKLOG) as listener:
        Receiver(pathlib.Path(secrets).read_text().split(), file).serve(listener)


if __name__ == "__main__":
    main()
