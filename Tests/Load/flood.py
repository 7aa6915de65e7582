#!/usr/bin/env python3
"""Sends requests on so many connections without a pause, until its input ends; prints how they were answered.

usage: flood.py HOST PORT CONNECTIONS

The first line of its input are the requests, a JSON list of {"method", "path", "token", "body"}, sent by turns. In path and body `{n}`
becomes a number that no other request has, and `{proof}` the base64url of a JSON object with it. At the end it prints a JSON object: how many were
answered with each status, and `failed`, those that were not answered.

It is another process, one thread on bare sockets, with the lowest priority: who floods a server uses another machine's processor.
"""

import base64
import json
import os
import select
import socket
import sys

ANSWER_SECONDS = 40.0  # That an answer may take.
LOOK_SECONDS = 0.2  # How often it is seen that the input has ended, where nothing is answered.
RECONNECT_TRIES = 1000


class Flooder:
    """One connection, which is opened again when the server closes it."""

    def __init__(self, address):
        self.address, self.socket, self.received = address, None, b""

    def send(self, request):
        if self.socket is None:
            self.socket = socket.create_connection(self.address, timeout=ANSWER_SECONDS)
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.received = b""
        try:
            self.socket.sendall(request)
        except OSError:
            pass  # Refused before its body was read: the answer is there all the same, or the end.

    def answer(self):
        """The status; 0 at the end of the connection; None while a part is missing."""
        try:
            data = self.socket.recv(65536)
        except OSError:
            data = b""
        if not data:
            self.close()
            return 0
        self.received += data
        end = self.received.find(b"\r\n\r\n")
        if end < 0:
            return None
        head = self.received[:end].lower()
        length = next((int(line[15:]) for line in head.split(b"\r\n") if line.startswith(b"content-length:")), 0)
        if len(self.received) < end + 4 + length:
            return None
        if b"connection: close" in head:
            self.close()
        return int(head.split(b" ")[1])

    def close(self):
        if self.socket is not None:
            self.socket.close()
            self.socket = None


def encoded(request, number, host):
    proof = base64.urlsafe_b64encode(json.dumps({"n": number}).encode()).rstrip(b"=").decode()
    fill = lambda text: text.replace("{n}", str(number)).replace("{proof}", proof)  # noqa: E731
    body = fill(request.get("body", "")).encode()
    head = (f"{request['method']} {fill(request['path'])} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {request['token']}\r\n"
            f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n")
    return head.encode() + body


def flood(address, connections, requests):
    poll, flooders, statuses = select.epoll(), {}, {}
    number = 0

    def go(flooder):
        nonlocal number
        for _ in range(RECONNECT_TRIES):
            number += 1
            try:
                flooder.send(encoded(requests[number % len(requests)], number, address[0]))
                break
            except OSError:
                flooder.close()
                statuses["failed"] = statuses.get("failed", 0) + 1
        else:
            return
        flooders[flooder.socket.fileno()] = flooder
        poll.register(flooder.socket.fileno(), select.EPOLLIN)

    for _ in range(connections):
        go(Flooder(address))
    poll.register(sys.stdin.fileno(), select.EPOLLIN)
    while flooders:
        for descriptor, _ in poll.poll(LOOK_SECONDS):
            if descriptor == sys.stdin.fileno():
                return statuses
            flooder = flooders[descriptor]
            status = flooder.answer()
            if status is None:
                continue
            if flooder.socket is not None:
                poll.unregister(descriptor)
            del flooders[descriptor]
            name = str(status) if status else "failed"
            statuses[name] = statuses.get(name, 0) + 1
            go(flooder)
    return statuses


def main():
    host, port, connections = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    requests = json.loads(sys.stdin.readline())
    os.nice(19)
    print(json.dumps(flood((host, port), connections, requests)), flush=True)


if __name__ == "__main__":
    main()
