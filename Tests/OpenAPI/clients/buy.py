"""Buys with the generated Python client, and reads what came of it: `countersign_api` is what the generator has made."""
import json
import pathlib
import sys
import time
import urllib.request

from countersign_api import AuthenticatedClient
from countersign_api.api.purchases import post_intent, post_purchase
from countersign_api.api.reading import get_account, list_orders
from countersign_api.models import IntentRequest, PurchaseRequest, SettledPurchase, TransactionFulfilledEvent

APP, ACCOUNT, PRODUCT = "com.example.game", "generated-python", "gems.100"
WEBHOOK_SECONDS = 30.0


def expect(what, is_so, found):
    if not is_so:
        raise SystemExit(f"buy.py: {what}: {found}")
    print(f"buy.py: {what}", flush=True)


def sell(simulator, token):
    """The player buys, in the App Store that is played here."""
    body = {"bundleId": APP, "productId": PRODUCT, "type": "Consumable", "appAccountToken": token}
    request = urllib.request.Request(f"{simulator}/simulator/v1/sales", data=json.dumps(body).encode(),
                                     headers={"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=20) as answer:
        return json.load(answer)["transactions"][0]


def webhook(folder, transaction):
    """The event that the webhook of this transaction brought."""
    path, end = pathlib.Path(folder) / f"{transaction}.json", time.monotonic() + WEBHOOK_SECONDS
    while not path.exists() and time.monotonic() < end:
        time.sleep(0.2)
    return json.loads(path.read_text())


intake, key, simulator, webhooks = sys.argv[1:]
client = AuthenticatedClient(base_url=intake, token=key)
intent = post_intent.sync_detailed(client=client, body=IntentRequest(app=APP, account=ACCOUNT, product_id=PRODUCT))
expect("an intent is opened", intent.status_code == 201 and intent.parsed.account == ACCOUNT, intent)
sale = sell(simulator, intent.parsed.id)
posted = post_purchase.sync_detailed(
    client=client, wait=25,
    body=PurchaseRequest(app=APP, account=ACCOUNT, signed_transaction=sale["signedTransaction"]))
expect("the purchase is fulfilled, and may be finished",
       isinstance(posted.parsed, SettledPurchase) and posted.parsed.state.value == "fulfilled" and posted.parsed.finish,
       posted)
account = get_account.sync_detailed(client=client, id=ACCOUNT, app=APP)
balances = {balance.item: balance.amount for balance in account.parsed.balances}
expect("the account has what it bought", sum(balances.values()) > 0, balances)
orders = list_orders.sync_detailed(client=client, app=APP, account=ACCOUNT)
expect("its order is listed", sale["transactionId"] in [order.transaction_id for order in orders.parsed.data], orders)
problem = get_account.sync_detailed(client=client, id=ACCOUNT, app="com.example.nobody")
expect("a problem is read as one", problem.parsed.code == "app-unknown", problem)
delivered = webhook(webhooks, sale["transactionId"])
event = TransactionFulfilledEvent.from_dict(delivered)
expect("a webhook told of it", event.customer.id == ACCOUNT and event.to_dict() == delivered, event)
