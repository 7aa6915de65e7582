"""What a studio would write instead of Countersign: one endpoint that verifies a purchase with Apple's own library, as the library
works by itself, and grants it once. Run by pipeline_sides.py: uvicorn pipeline_peer:app

The environment: PEER_POSTGRES (libpq's words; the password is in PGPASSWORD), PEER_ROOT (a file with the root certificate),
PEER_API_KEY, PEER_KIND. `naive` writes the purchase and the balance. `equal` writes a line of the ledger and an event in the same
transaction, too, which pipeline_peer_webhooks.py delivers.
"""

import contextlib
import hmac
import json
import os
import pathlib
from typing import Annotated

from appstoreserverlibrary.models.Environment import Environment
from appstoreserverlibrary.signed_data_verifier import SignedDataVerifier, VerificationException
from fastapi import FastAPI, Header, HTTPException
from psycopg_pool import AsyncConnectionPool
from pydantic import BaseModel

APP = "com.example.game"
ITEMS = {"gems.100": ("gem", 100)}  # What a product grants.
CONNECTIONS = 10  # Of each process to PostgreSQL.
KEY = ("Bearer " + os.environ["PEER_API_KEY"]).encode()

# One statement, which is a transaction of its own: nothing is granted for a transaction that is there already.
GRANT = """
WITH bought AS (
    INSERT INTO purchases (transaction_id, account, product, quantity)
    VALUES (%(transaction)s, %(account)s, %(product)s, %(quantity)s) ON CONFLICT (transaction_id) DO NOTHING
    RETURNING account){equal}
INSERT INTO balances (account, item, amount) SELECT account, %(item)s, %(amount)s FROM bought
ON CONFLICT (account, item) DO UPDATE SET amount = balances.amount + excluded.amount
""".format(equal=""", booked AS (
    INSERT INTO ledger (transaction_id, account, item, amount)
    SELECT %(transaction)s, account, %(item)s, %(amount)s FROM bought), told AS (
    INSERT INTO outbox (body) SELECT %(event)s FROM bought)""" if os.environ["PEER_KIND"] == "equal" else "")

# True: the library asks the certificates' OCSP responders, and keeps a chain that it has verified for 15 minutes.
verifier = SignedDataVerifier([pathlib.Path(os.environ["PEER_ROOT"]).read_bytes()], True, Environment.SANDBOX, APP)
pool = AsyncConnectionPool(
    os.environ["PEER_POSTGRES"], min_size=CONNECTIONS, max_size=CONNECTIONS, kwargs={"autocommit": True}, open=False)


class Purchase(BaseModel):
    """What the game posts."""

    app: str
    account: str
    signed_transaction: str


@contextlib.asynccontextmanager
async def lifespan(_):
    await pool.open(wait=True)
    yield
    await pool.close()


app = FastAPI(lifespan=lifespan, openapi_url=None)


def verified(purchase, authorization):
    """What is to be written; raises what is answered instead."""
    if not hmac.compare_digest(authorization.encode(), KEY):
        raise HTTPException(401)
    try:
        transaction = verifier.verify_and_decode_signed_transaction(purchase.signed_transaction)
    except VerificationException as error:
        raise HTTPException(422, error.status.name) from error
    if purchase.app != APP or transaction.productId not in ITEMS or transaction.revocationDate is not None:
        raise HTTPException(422, "nothing is granted for it")
    item, amount = ITEMS[transaction.productId]
    quantity = transaction.quantity or 1
    row = {"transaction": transaction.transactionId, "account": purchase.account, "product": transaction.productId,
           "quantity": quantity, "item": item, "amount": amount * quantity}
    event = {"type": "purchase.granted", "data": {
        "transaction_id": row["transaction"], "account": row["account"], "product": row["product"],
        "items": [{"item": item, "amount": row["amount"]}]}}
    return {**row, "event": json.dumps(event)}


@app.post("/v1/purchases")
async def post(purchase: Purchase, authorization: Annotated[str, Header()]):
    row = verified(purchase, authorization)
    async with pool.connection() as connection:
        done = await connection.execute(GRANT, row)
    # A transaction that was there already is granted, too: the game finishes it.
    return {"state": "granted", "transaction_id": row["transaction"], "granted_now": done.rowcount == 1, "finish": True}


@app.get("/readyz")
async def ready():
    return {"ready": True}
