"""What a studio would write instead of Countersign: one endpoint that verifies a purchase with Apple's own library and grants it
once. Run by pipeline_measurements.py: uvicorn pipeline_peer:app

The environment: PEER_POSTGRES (libpq's words; the password is in PGPASSWORD), PEER_ROOT (a file with the root certificate),
PEER_API_KEY, PEER_ROUTE (async or sync), PEER_ONLINE_CHECKS (not 0: the library asks the certificates' OCSP responders, and keeps
a chain that it has verified for 15 minutes).
"""

import contextlib
import hmac
import os
import pathlib
from typing import Annotated

from appstoreserverlibrary.models.Environment import Environment
from appstoreserverlibrary.signed_data_verifier import SignedDataVerifier, VerificationException
from fastapi import FastAPI, Header, HTTPException
from psycopg_pool import AsyncConnectionPool, ConnectionPool
from pydantic import BaseModel

APP = "com.example.game"
ITEMS = {"gems.100": ("gem", 100)}  # What a product grants.
CONNECTIONS = 10  # Of each process to PostgreSQL.
KEY = ("Bearer " + os.environ["PEER_API_KEY"]).encode()
IS_ASYNC = os.environ["PEER_ROUTE"] == "async"

# One statement, which is a transaction of its own: nothing is granted for a transaction that is there already.
GRANT = """
WITH bought AS (
    INSERT INTO purchases (transaction_id, account, product, quantity)
    VALUES (%(transaction)s, %(account)s, %(product)s, %(quantity)s) ON CONFLICT (transaction_id) DO NOTHING
    RETURNING account)
INSERT INTO balances (account, item, amount) SELECT account, %(item)s, %(amount)s FROM bought
ON CONFLICT (account, item) DO UPDATE SET amount = balances.amount + excluded.amount
"""

verifier = SignedDataVerifier(
    [pathlib.Path(os.environ["PEER_ROOT"]).read_bytes()], os.environ.get("PEER_ONLINE_CHECKS") != "0", Environment.SANDBOX, APP)
pool = (AsyncConnectionPool if IS_ASYNC else ConnectionPool)(
    os.environ["PEER_POSTGRES"], min_size=CONNECTIONS, max_size=CONNECTIONS, kwargs={"autocommit": True}, open=False)


class Purchase(BaseModel):
    """What the game posts."""

    app: str
    account: str
    signed_transaction: str


@contextlib.asynccontextmanager
async def lifespan(_):
    opened = pool.open(wait=True)
    if IS_ASYNC:
        await opened
    yield
    closed = pool.close()
    if IS_ASYNC:
        await closed


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
    return {"transaction": transaction.transactionId, "account": purchase.account, "product": transaction.productId,
            "quantity": quantity, "item": item, "amount": amount * quantity}


def answer(row, granted):
    """A transaction that was there already is granted, too: the game finishes it."""
    return {"state": "granted", "transaction_id": row["transaction"], "granted_now": granted == 1, "finish": True}


if IS_ASYNC:
    @app.post("/v1/purchases")
    async def post(purchase: Purchase, authorization: Annotated[str, Header()]):
        row = verified(purchase, authorization)
        async with pool.connection() as connection:
            done = await connection.execute(GRANT, row)
        return answer(row, done.rowcount)
else:
    @app.post("/v1/purchases")
    def post(purchase: Purchase, authorization: Annotated[str, Header()]):
        row = verified(purchase, authorization)
        with pool.connection() as connection:
            done = connection.execute(GRANT, row)
        return answer(row, done.rowcount)


@app.get("/readyz")
async def ready():
    return {"ready": True}
