#!/usr/bin/env python3
"""Opens connections that say nothing, or begin a request and go on no further, and keeps them until its input ends.

usage: idle_connections.py HOST PORT COUNT

A line `opened N` when all were tried, and `open N` at the end: what the server has not closed.
"""

import resource
import socket
import sys

BEGINNINGS = (b"", b"POST /v1/purchases HTTP/1.1\r\nhost: localhost\r\n",
              b"POST /v1/purchases HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\n\r\n{")
SPARE_FILES = 64


def open_one(host, port, number):
    """A connection, or nothing where the server takes none."""
    try:
        connection = socket.create_connection((host, port), timeout=5)
        connection.sendall(BEGINNINGS[number % len(BEGINNINGS)])
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


def main():
    host, port, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    wanted = count + SPARE_FILES
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))
    connections = [each for each in (open_one(host, port, number) for number in range(count)) if each]
    print(f"opened {len(connections)}", flush=True)
    sys.stdin.read()
    print(f"open {sum(map(is_open, connections))}", flush=True)


if __name__ == "__main__":
    main()
