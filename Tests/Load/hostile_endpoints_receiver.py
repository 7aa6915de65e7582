"""The endpoints of `Tests/Load/hostile-endpoints`: well-behaved ones and bad ones, in one process on loopback.

usage: hostile_endpoints_receiver.py PLAN, a JSON file: {"log": FILE, "endpoints": [{"id", "kind", "ordered"}]}

Writes the endpoints' ports as a line of JSON. Kinds: good; flaky (refuses some); dead (nothing listens); slow (never answers in time);
redirecting; resetting; lying (about the length). SIGUSR1 makes all of them good. Each request is a line of the log: time, endpoint, event, account, sequence, what became of
it (`taken` or the kind). Where an ordered endpoint hears of an event before it took the one before, the last word is `DISORDER`.
"""

import asyncio
import json
import random
import signal
import socket
import struct
import sys
import time

SLOW_SECONDS = 3600.0  # Longer than any time-out.
FLAKY_PART = 0.1
HEAD_BYTES_MAXIMUM = 64 << 10


class Endpoint:
    def __init__(self, plan, log):
        self.id, self.kind, self.ordered = plan["id"], plan["kind"], plan["ordered"]
        self.log = log
        self.taken = {}  # By account: the last number up to which all were taken.
        # Also a dead one has its port from the start, so that nobody else gets it.
        self.socket = socket.socket()
        self.socket.bind(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.requests = 0
        self.healed = asyncio.Event()

    async def listen(self):
        await asyncio.start_server(self.serve, sock=self.socket, backlog=1024)

    async def heal(self):
        was, self.kind = self.kind, "good"
        self.healed.set()
        if was == "dead":
            await self.listen()

    async def serve(self, reader, writer):
        try:
            while await self.exchange(reader, writer):
                pass
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError, ValueError):
            pass
        finally:
            writer.close()

    async def exchange(self, reader, writer):
        """One request and its answer; true when the connection goes on."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        if len(head) > HEAD_BYTES_MAXIMUM:
            raise ValueError("the head is too long")
        lengths = [int(line.split(":", 1)[1]) for line in head.split("\r\n") if line.startswith("content-length:")]
        if not lengths:
            raise ValueError("not a webhook")
        event = json.loads(await reader.readexactly(lengths[0]))
        self.requests += 1
        kind = self.kind
        if kind == "flaky":
            kind = "refused" if random.random() < FLAKY_PART else "good"
        customer = event["customer"]
        disorder = self.ordered and customer["sequence"] > self.taken.get(customer["id"], 0) + 1
        if kind == "good" and not disorder:
            self.taken[customer["id"]] = max(self.taken.get(customer["id"], 0), customer["sequence"])
        self.log.write(f"{time.time():.6f} {self.id} {event['id']} {customer['id']} {customer['sequence']} "
                       f"{'taken' if kind == 'good' else kind}{' DISORDER' if disorder else ''}\n")
        return await self.answer(kind, writer)

    async def answer(self, kind, writer):
        if kind == "slow":
            try:
                await asyncio.wait_for(self.healed.wait(), SLOW_SECONDS)
            except asyncio.TimeoutError:
                pass
            return False
        if kind == "resetting":
            linger = struct.pack("ii", 1, 0)  # Closing sends RST.
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            writer.transport.abort()
            return False
        answers = {
            "good": b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok",
            "refused": b"HTTP/1.1 500 Internal Server Error\r\ncontent-length: 5\r\n\r\nbusy\n",
            "redirecting": b"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n",
            # Says more than it sends; half of the time it also leaves the connection open.
            "lying": b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nthat was all",
        }
        writer.write(answers[kind])
        await writer.drain()
        if kind == "lying" and self.requests % 2:
            try:
                await asyncio.wait_for(self.healed.wait(), SLOW_SECONDS)
            except asyncio.TimeoutError:
                pass
        return kind != "lying"


async def run(plan):
    with open(plan["log"], "a", buffering=1, encoding="utf-8") as log:
        endpoints = [Endpoint(each, log) for each in plan["endpoints"]]
        for endpoint in endpoints:
            if endpoint.kind != "dead":
                await endpoint.listen()
        healing = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, healing.set)
        print(json.dumps([endpoint.port for endpoint in endpoints]), flush=True)
        await healing.wait()
        for endpoint in endpoints:
            await endpoint.heal()
        print("healed", flush=True)
        await asyncio.Event().wait()


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        plan = json.load(file)
    try:
        asyncio.run(run(plan))
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
