"""What Apple has to say in deploy/demo: purchases that no app posts, refunds and their reversal, renewals, a restore."""

import time

APP = "com.example.club"
PATIENCE_SECONDS = 20
PRODUCTS = {
    "gems.100": {"type": "Consumable", "price": 990},
    "level.pack": {"type": "Non-Consumable", "price": 2990},
    "vip.month": {"type": "Auto-Renewable Subscription", "period": "P1M", "price": 4990},
}


def act(shop):
    """Plays it; rows of what happened, and what the account has afterwards."""
    for product, what in PRODUCTS.items():
        shop.store("PUT", f"apps/{APP}/products/{product}", what)
    return gems(shop) + levels(shop) + subscription(shop)


def gems(shop):
    token = intent(shop, "player-kim", "gems.100")
    sale = sell(shop, "gems.100", appAccountToken=token)
    rows = [("bought with an intent, app deleted before it posts", settled(shop, "player-kim", "100 gem"))]
    shop.intake("POST", "/v1/accounts/player-kim/spend", {"app": APP, "items": [{"item": "gem", "amount": 60}]},
                {"idempotency-key": "sword"})
    rows.append(("60 gems spent on a sword", settled(shop, "player-kim", "40 gem")))
    shop.store("POST", f"transactions/{sale['transactionId']}/refund", {})
    rows.append(("refunded by Apple: the catalogue says to_negative", settled(shop, "player-kim", "-60 gem")))
    shop.store("POST", f"transactions/{sale['transactionId']}/reverse-refund", {})
    rows.append(("the refund is reversed", settled(shop, "player-kim", "40 gem")))
    return rows


def levels(shop):
    sale = sell(shop, "level.pack", account="apple-id-of-lee")
    shop.post("player-lee", sale["signedTransaction"], APP)
    rows = [("a level pack, posted by player-lee", settled(shop, "player-lee", "levels"))]
    # A restore is a transaction of its own, signed now: an old one moves nothing.
    shop.store("PUT", "devices/second-phone-of-lee", {"account": "apple-id-of-lee"})
    restored = shop.store("POST", "devices/second-phone-of-lee/restore", {"bundleId": APP}).body["transactions"][0]
    shop.post("player-lee-2", restored["signedTransaction"], APP)
    rows.append(("restored by player-lee-2: restore: transfer", settled(shop, "player-lee-2", "levels")))
    rows.append(("  and player-lee", settled(shop, "player-lee", "nothing")))
    return rows


def subscription(shop):
    token = intent(shop, "player-max", "vip.month")
    sale = sell(shop, "vip.month", appAccountToken=token, account="apple-id-of-max")
    rows = [("subscribes", settled(shop, "player-max", "vip, 50 gem, vip.month active"))]
    shop.store("POST", "clock/advance", {"by": "P1M"})
    rows.append(("a month later Apple renews", settled(shop, "player-max", "vip, 100 gem, vip.month active")))
    shop.store("POST", f"transactions/{sale['transactionId']}/refund", {})
    rows.append(("the first month is refunded, the second goes on",
                 settled(shop, "player-max", "vip, 50 gem, vip.month active")))
    return rows


def intent(shop, account, product):
    return shop.intake("POST", "/v1/intents", {"app": APP, "account": account, "product_id": product}).body["id"]


def sell(shop, product, **order):
    return shop.store("POST", "sales", {"bundleId": APP, "productId": product, **order}).body["transactions"][0]


def has(shop, account):
    """What an account has, in one line."""
    body = shop.intake("GET", f"/v1/accounts/{account}?app={APP}").body
    # An entitlement of two periods stands twice: the store's clock has gone ahead of ours.
    parts = list(dict.fromkeys(entitlement["entitlement"] for entitlement in body["entitlements"]))
    parts += [f"{balance['amount']} {balance['item']}" for balance in body["balances"]]
    parts += [f"{one['product_id']} {one['state']}" for one in body["subscriptions"]]
    return ", ".join(parts) or "nothing"


def settled(shop, account, expected):
    """What an account has once it is what is expected, or when patience ends; with a mark that says which."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while (found := has(shop, account)) != expected and time.monotonic() < deadline:
        time.sleep(0.1)
    return found if found == expected else f"{found}  (NOT {expected})"


def table(rows):
    width = max(len(what) for what, _ in rows)
    print("\n   " + "WHAT APPLE SAID, OR A PLAYER DID".ljust(width) + "  WHAT THE ACCOUNT HAS")
    print("   " + "-" * width + "  " + "-" * 35)
    for what, found in rows:
        print(f"   {what.ljust(width)}  {found}")
