"""The second half of the equal peer: delivers the events of its outbox, signed as Standard Webhooks has it, until SIGTERM.

usage: pipeline_peer_webhooks.py URL SECRET_FILE      and PEER_POSTGRES, as pipeline_peer.py

It claims events for a while, posts them at once on kept connections, and writes with one statement what came of them. One that
was refused, or not answered, becomes due again later and later. A process that dies leaves its claims, which run out.
"""

import asyncio
import base64
import hashlib
import hmac
import os
import pathlib
import signal
import sys
import time

import aiohttp
import psycopg

AT_ONCE = 64
CLAIM_SECONDS, POST_SECONDS = 30, 10
PAUSE_SECONDS = 0.02  # Until it looks again, when nothing was due.
CLAIM = f"""
UPDATE outbox SET due_at = now() + interval '{CLAIM_SECONDS} seconds', attempts = attempts + 1 WHERE id IN (
    SELECT id FROM outbox WHERE due_at <= now() ORDER BY due_at, id LIMIT {AT_ONCE} FOR UPDATE SKIP LOCKED)
RETURNING id, body, attempts
"""
RECORD = """
WITH said AS (SELECT * FROM unnest(%s::bigint[], %s::int[], %s::int[]) AS s (id, status, attempt)),
     tried AS (INSERT INTO attempts (event, attempt, status) SELECT id, attempt, status FROM said),
     later AS (UPDATE outbox SET due_at = now() + least(3600, 2 ^ attempts) * interval '1 second'
               FROM said WHERE outbox.id = said.id AND said.status NOT BETWEEN 200 AND 299)
DELETE FROM outbox USING said WHERE outbox.id = said.id AND said.status BETWEEN 200 AND 299
"""


async def post(session, url, key, event, body):
    """The status; 0 when there was no answer."""
    name, now, data = f"evt_{event}", str(int(time.time())), body.encode()
    signature = base64.b64encode(hmac.digest(key, f"{name}.{now}.".encode() + data, hashlib.sha256)).decode()
    headers = {"webhook-id": name, "webhook-timestamp": now, "webhook-signature": f"v1,{signature}",
               "content-type": "application/json"}
    try:
        async with session.post(url, data=data, headers=headers) as answer:
            await answer.read()
            return answer.status
    except (aiohttp.ClientError, asyncio.TimeoutError, OSError):
        return 0


async def deliver(url, key):
    timeout, connector = aiohttp.ClientTimeout(total=POST_SECONDS), aiohttp.TCPConnector(limit=AT_ONCE)
    async with await psycopg.AsyncConnection.connect(os.environ["PEER_POSTGRES"], autocommit=True) as database, \
            aiohttp.ClientSession(timeout=timeout, connector=connector) as session:
        while True:
            claimed = await (await database.execute(CLAIM)).fetchall()
            if not claimed:
                await asyncio.sleep(PAUSE_SECONDS)
                continue
            said = await asyncio.gather(*(post(session, url, key, event, body) for event, body, _ in claimed))
            await database.execute(RECORD, ([row[0] for row in claimed], list(said), [row[2] for row in claimed]))


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    url, secrets = sys.argv[1:]
    key = base64.b64decode(pathlib.Path(secrets).read_text().split()[0].removeprefix("whsec_"))
    asyncio.run(deliver(url, key))


if __name__ == "__main__":
    main()
