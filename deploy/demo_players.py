"""The players of deploy/demo: they buy in the App Store simulator, post what they got, and a table tells what came out."""

import argparse
import collections
import concurrent.futures
import json
import pathlib
import random
import shlex
import statistics
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid

import demo_apple
from setup_environment import read_setup

HERE = pathlib.Path(__file__).resolve().parent
GAME, STRICT = "com.example.game", "com.example.strict"
PLAYERS = 40
DUPLICATE_SHARE = 0.3
CONCURRENCY = 16
WAIT_SECONDS = 20
ATTEMPT_SECONDS = 60.0
FORGERIES = ["self_made_chain", "edited_payload", "algorithm_none"]

Answer = collections.namedtuple("Answer", "status body seconds")


class Shop:
    """The simulator and the intake, by HTTP."""

    def __init__(self, folder):
        lines = subprocess.check_output([str(HERE / "stack"), "--dir", folder, "env"], text=True).splitlines()
        self.settings = dict(shlex.split(line)[0].split("=", 1) for line in lines if line)
        self.opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def call(self, method, url, body=None, headers=None):
        request = urllib.request.Request(
            url, method=method, data=None if body is None else json.dumps(body).encode(),
            headers={"content-type": "application/json", **(headers or {})})
        begun = time.monotonic()
        try:
            with self.opener.open(request, timeout=ATTEMPT_SECONDS) as answer:
                return Answer(answer.status, json.load(answer), time.monotonic() - begun)
        except urllib.error.HTTPError as error:
            return Answer(error.code, json.loads(error.read() or b"{}"), time.monotonic() - begun)

    def store(self, method, path, body=None):
        """The simulator's control API: what happens in the App Store."""
        return self.call(method, f"{self.settings['COUNTERSIGN_SIMULATOR_URL']}/simulator/v1/{path}", body)

    def intake(self, method, path, body=None, headers=None):
        """What the studio's server asks of intake."""
        return self.call(method, self.settings["COUNTERSIGN_RECEIPT_INTAKE_URL"] + path, body,
                         {"authorization": f"Bearer {self.settings['COUNTERSIGN_API_KEY']}", **(headers or {})})

    def sell(self, app=GAME, count=1, **order):
        body = {"bundleId": app, "productId": "gems.100", "type": "Consumable", "count": count, **order}
        return self.store("POST", "sales", body).body["transactions"]

    def forge(self, kind):
        body = {"kind": kind, "bundleId": GAME, "productId": "gems.100"}
        return self.store("POST", "forgeries", body).body["signedTransaction"]

    def receipt(self, apple_id):
        query = urllib.parse.urlencode({"bundleId": GAME, "account": apple_id, "environment": "Production"})
        return self.store("GET", f"receipts?{query}").body["receipt"]

    def post(self, account, signed_transaction, app=GAME):
        return self.post_proof(account, {"signed_transaction": signed_transaction}, app)

    def post_proof(self, account, proof, app=GAME):
        body = {"app": app, "account": account, **proof}
        return self.intake("POST", f"/v1/purchases?wait={WAIT_SECONDS}", body)

    def register(self, token, account):
        return self.intake("PUT", f"/v1/account-tokens/{token}", {"app": GAME, "account": account})

    def post_all(self, purchases, label):
        """Posts many at once, and shows how far it is."""
        answers = []
        with concurrent.futures.ThreadPoolExecutor(CONCURRENCY) as pool:
            futures = [pool.submit(self.post, account, proof) for account, proof in purchases]
            for number, future in enumerate(concurrent.futures.as_completed(futures), 1):
                answers.append(future.result())
                progress(label, number, len(futures))
        return answers


def progress(label, done, total):
    if sys.stderr.isatty():
        bar = "#" * (done * 30 // total)
        print(f"\r   {label:<28} [{bar:<30}] {done}/{total}", end="\n" if done == total else "", file=sys.stderr)
    elif done == total:
        print(f"   {label:<28} {done}/{total}", file=sys.stderr)


def said(answers):
    """What intake answered, counted: `300 fulfilled`, `1 rejected: root_not_trusted (do not finish)`."""
    counts = collections.Counter()
    for answer in answers:
        body = answer.body
        text = body.get("state") or f"{answer.status} {body.get('title', '')}"
        if body.get("reason"):
            text += f": {body['reason']}"
        if answer.status == 422:
            text = f"refused at the door: {body.get('type', '').rpartition(':')[2]}"
        elif body.get("state") == "rejected":
            text += " (may finish)" if body.get("finish") else " (do not finish)"
        counts[text] += 1
    return ", ".join(f"{count} {text}" for text, count in counts.most_common())


def buy(shop, count):
    """Everything that players do; rows of what was sent, how often, what was answered, and what it means."""
    rows = []
    # First, so that the consumers have their partitions before anything is timed: a group takes seconds to form.
    test = shop.sell(environment="Sandbox")[0]["signedTransaction"]
    reviewer = ("a sandbox purchase, allowed", [shop.post("reviewer", test)], "granted in the sandbox's own ledger")
    sales = []
    while len(sales) < count:
        sales += shop.sell(count=min(1000, count - len(sales)))
    purchases = [(f"player-{random.randrange(PLAYERS) + 1}", sale["signedTransaction"]) for sale in sales]
    ordinary = shop.post_all(purchases, "ordinary purchases")
    rows.append(("ordinary purchases of 100 gems", ordinary, "each granted to its player"))
    again = shop.post_all(random.sample(purchases, int(count * DUPLICATE_SHARE)), "some of them again")
    rows.append(("some of them sent again", again, "the same answer, nothing granted again"))
    one = shop.sell()[0]["signedTransaction"]
    rows.append(("one purchase, ten times at once", shop.post_all([("player-ten", one)] * 10, "ten at once"), "one grant"))
    rows += other_proofs(shop)
    token = str(uuid.uuid4())
    shop.register(token, "player-buyer")
    hers = shop.sell(appAccountToken=token)[0]["signedTransaction"]
    rows.append(("player-buyer's, sent by player-thief", [shop.post("player-thief", hers)], "granted to player-buyer"))
    for kind in FORGERIES:
        rows.append((f"a forgery: {kind.replace('_', ' ')}", [shop.post("forger", shop.forge(kind))], "nothing"))
    rows.append(reviewer)
    strict = shop.sell(app=STRICT, environment="Sandbox")[0]["signedTransaction"]
    rows.append(("a sandbox purchase, app refuses them", [shop.post("reviewer", strict, STRICT)], "nothing"))
    unknown = shop.sell(productId="hat.golden", type="Non-Consumable")[0]["signedTransaction"]
    rows.append(("a product the catalogue lacks", [shop.post("player-1", unknown)], "kept until it is known"))
    return rows


def other_proofs(shop):
    """What apps hold that have no signed transaction: the receipt of an Apple ID, or no more than an id."""
    family = "apple-id-of-two"  # Brother and sister play on one device: what both bought stands in one receipt.
    brothers, _ = shop.sell(account=family)[0], shop.sell(account=family)[0]
    named = {"receipt": shop.receipt(family), "transaction_id": brothers["transactionId"]}
    bare = {"transaction_id": shop.sell()[0]["transactionId"]}
    return [("a receipt of two players, one named", [shop.post_proof("player-brother", named)], "the named one is granted"),
            ("a transaction id, nothing else", [shop.post_proof("player-idle", bare)], "Apple is asked, then granted")]


def query(shop, sql):
    programs = read_setup("PG_BIN")["PG_BIN"]
    return subprocess.check_output(
        [f"{programs}/psql", "-XAtq", shop.settings["COUNTERSIGN_POSTGRES_URL"], "-c", sql], text=True).strip()


def wait_for_webhooks(shop):
    """Until every event was delivered; at most half a minute."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if query(shop, "SELECT (SELECT count(*) FROM event_outbox) "
                       "+ (SELECT count(*) FROM webhook_deliveries WHERE state <> 'delivered')") == "0":
            return
        time.sleep(0.2)


def table(rows):
    cells = [("WHAT PLAYERS SENT", "SENT", "WHAT THEY HEARD", "WHAT IT DID")]
    cells += [(what, str(len(answers)), said(answers), effect) for what, answers, effect in rows]
    widths = [max(len(row[column]) for row in cells) for column in range(3)]
    for number, row in enumerate(cells):
        print("   " + "  ".join(text.ljust(width) for text, width in zip(row, widths)) + "  " + row[3])
        if number == 0:
            print("   " + "  ".join("-" * width for width in widths) + "  " + "-" * 35)


def sums(shop, rows):
    orders, gems = query(shop, "SELECT (SELECT count(*) FROM orders WHERE state = 'granted' AND environment = "
                               "'production'), (SELECT sum(amount) FROM balances WHERE environment = 'production')"
                         ).split("|")
    # The ordinary ones, the one sent ten times, the one in a receipt, the one of an id, and player-buyer's.
    genuine = len(rows[0][1]) + 4
    webhooks, events = query(shop, "SELECT (SELECT count(*) FROM webhook_deliveries WHERE state = 'delivered'), "
                                   "(SELECT count(*) FROM events)").split("|")
    print(f"\n   Paid purchases sold: {genuine}; orders granted: {orders}; gems in balances: {gems} "
          f"({'exactly what was sold' if int(gems) == genuine * 100 else 'NOT what was sold'})")
    print(f"   Events: {events}; webhooks delivered: {webhooks}")
    times = sorted(answer.seconds * 1000 for answer in rows[0][1])
    cuts = statistics.quantiles(times, n=100)
    print(f"   From posting to the outcome, ordinary purchases: median {cuts[49]:.0f} ms, 95 % within {cuts[94]:.0f} ms, "
          f"99 % within {cuts[98]:.0f} ms ({CONCURRENCY} at a time)")
    return int(gems) == genuine * 100 and int(orders) == genuine


def addresses(shop, folder):
    settings = shop.settings
    store, intake = settings["COUNTERSIGN_SIMULATOR_URL"], settings["COUNTERSIGN_RECEIPT_INTAKE_URL"]
    print(f"""
   To try while it runs (deploy/site/pages/first-requests.md has more; everybody knows this key, and it is good on this machine only):
     sell a purchase    curl -s {store}/simulator/v1/sales \\
                          -d '{{"bundleId":"{GAME}","productId":"gems.100","type":"Consumable"}}'
     what a player has  curl -s "{intake}/v1/accounts/player-1?app={GAME}" \\
                          -H "Authorization: Bearer {settings['COUNTERSIGN_API_KEY']}"
     what came by hook  curl -s {settings['COUNTERSIGN_WEBHOOK_RECEIVER_URL']}/stats
     the console        {settings['COUNTERSIGN_CONSOLE_URL']}/ (Chromium or Firefox)
     metrics            curl -s {settings['COUNTERSIGN_FULFILLMENT_ADMIN_URL']}/metrics
     the story of one   deploy/stack --dir {folder} tool inspect ID
     what is wrong      deploy/stack --dir {folder} tool doctor
     who runs, logs     deploy/stack --dir {folder} status; {folder}/logs/""")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dir", required=True)
    parser.add_argument("--purchases", type=int, default=300)
    options = parser.parse_args()
    if not 10 <= options.purchases <= 100_000:
        sys.exit("demo: --purchases is from 10 to 100000")
    shop = Shop(options.dir)
    rows = buy(shop, options.purchases)
    wait_for_webhooks(shop)
    print()
    table(rows)
    adds_up = sums(shop, rows)
    told = demo_apple.act(shop)
    demo_apple.table(told)
    addresses(shop, options.dir)
    if not adds_up:
        sys.exit("demo: the ledger does not add up")
    if any("(NOT " in found for _, found in told):
        sys.exit("demo: an account does not have what it should")


if __name__ == "__main__":
    main()
