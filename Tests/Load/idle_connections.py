#!/usr/bin/env python3
"""Opens connections that say nothing, or begin a request and go on no further, and keeps them until its input ends.

usage: idle_connections.py HOST PORT COUNT [--slowly]

A line `opened N` when all were tried, and `open N` at the end: what the server has not closed. With --slowly (slow-loris) each sends a
byte five times a second, half of them of a head and half of a body; the first line of its input is the player's token for these.
"""

import os
import resource
import select
import socket
import sys
import time

BEGINNINGS = (b"", b"POST /v1/purchases HTTP/1.1\r\nhost: localhost\r\n",
              b"POST /v1/purchases HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\n\r\n{")
SPARE_FILES = 64
PAUSE_SECONDS = 0.2
SLOW_HEAD = b"POST /v1/purchases HTTP/1.1\r\nhost: localhost\r\nx-slow: "
SLOW_BODY = ("POST /v1/purchases HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer %s\r\n"
             "content-type: application/json\r\ncontent-length: 4000\r\n\r\n{\"")


def open_one(host, port, beginning):
    """A connection, or nothing where the server takes none."""
    try:
        connection = socket.create_connection((host, port), timeout=5)
        connection.sendall(beginning)
        connection.setblocking(False)
        return connection
    except OSError:
        return None


def is_open(connection):
    try:
        while connection.recv(4096):
            pass  # An answer, such as a refusal.
        return False
    except BlockingIOError:
        return True
    except OSError:
        return False


def drip(connections):
    """Until the input ends, a byte on each and a pause, by turns."""
    while True:
        began = time.monotonic()
        for connection in connections:
            try:
                connection.send(b"a")
            except OSError:
                pass  # Closed, which is looked at in the end.
        if select.select([sys.stdin], [], [], max(0, began + PAUSE_SECONDS - time.monotonic()))[0]:
            return


def main():
    host, port, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    is_slow = "--slowly" in sys.argv[4:]
    beginnings = (SLOW_HEAD, (SLOW_BODY % sys.stdin.readline().strip()).encode()) if is_slow else BEGINNINGS
    os.nice(19)  # Whose connections these are uses another machine's processor.
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    wanted = count + SPARE_FILES
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))
    connections = [each for each in (open_one(host, port, beginnings[number % len(beginnings)]) for number in range(count)) if each]
    print(f"opened {len(connections)}", flush=True)
    if is_slow:
        drip(connections)
    else:
        sys.stdin.read()
    print(f"open {sum(map(is_open, connections))}", flush=True)


if __name__ == "__main__":
    main()
