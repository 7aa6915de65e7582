"""The running simulator, and Apple's library set up for it: another base URL, another root, nothing else."""

import json
import os
import pathlib
import time
import urllib.error
import urllib.request
import uuid

from appstoreserverlibrary.api_client import AppStoreServerAPIClient
from appstoreserverlibrary.models.Environment import Environment
from appstoreserverlibrary.signed_data_verifier import SignedDataVerifier

STATE = pathlib.Path(os.environ["SIMULATOR_STATE"])
ENVIRONMENTS = [Environment.PRODUCTION, Environment.SANDBOX]
READY_SECONDS = 30
CALL_SECONDS = 60.0


class ControlError(Exception):
    """The control API refused, or failed."""


class Simulator:
    """The simulator's control API, by HTTP."""

    def __init__(self):
        self.addresses = json.loads((STATE / "addresses.json").read_text())
        self.opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        self.wait_until_ready()
        self.root = (STATE / "root.der").read_bytes()

    def wait_until_ready(self):
        """Asks /readyz until it answers; an exception says why it never did."""
        end = time.monotonic() + READY_SECONDS
        while True:
            try:
                return self.opener.open(self.addresses["control"] + "/readyz", timeout=5).read()
            except OSError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.1)

    def call(self, method, path, body=None):
        """One call of the control API; what it answers, from JSON."""
        request = urllib.request.Request(
            f"{self.addresses['control']}/simulator/v1/{path}", method=method,
            data=None if body is None else json.dumps(body).encode(), headers={"content-type": "application/json"})
        try:
            with self.opener.open(request, timeout=CALL_SECONDS) as answer:
                return json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as error:
            raise ControlError(f"{method} {path} {body}: {error.code} {error.read().decode()}") from None

    def get(self, path):
        return self.call("GET", path)

    def post(self, path, body=None):
        return self.call("POST", path, {} if body is None else body)

    def put(self, path, body):
        return self.call("PUT", path, body)

    def base_url(self, environment):
        return self.addresses["production" if environment == Environment.PRODUCTION else "sandbox"]


class Client(AppStoreServerAPIClient):
    """Apple's client with another base URL; it remembers the last answer, so that it can be read raw."""

    def __init__(self, base_url, **arguments):
        super().__init__(**arguments)
        self._base_url = base_url
        self.answer = None

    def _execute_request(self, *arguments, **named):
        self.answer = super()._execute_request(*arguments, **named)
        return self.answer


class App:
    """An app of its own for a test class, with four products and a key."""

    CONSUMABLE, DURABLE, SEASON = "gems.100", "castle", "season"
    MONTHLY, YEARLY = "gold.monthly", "gold.yearly"
    GROUP = "21000001"
    OFFERS = [
        {"kind": "introductory", "discount": "FREE_TRIAL", "period": "P1W"},
        {"kind": "promotional", "identifier": "come-closer", "discount": "PAY_AS_YOU_GO", "period": "P1M",
         "periodCount": 3, "price": 1990},
        {"kind": "code", "identifier": "SUMMER", "discount": "PAY_UP_FRONT", "period": "P1M", "price": 2990},
        {"kind": "winBack", "identifier": "come-back", "discount": "FREE_TRIAL", "period": "P1M"},
    ]

    _count = 0

    def __init__(self, simulator, **settings):
        App._count += 1
        self.simulator = simulator
        self.bundle_id = f"com.example.oracle{App._count}"
        self.apple_id = 1_000_000_000 + App._count
        simulator.put(f"apps/{self.bundle_id}", {
            "appAppleId": self.apple_id, "bundleVersion": "42", "isReleased": True, "sharedSecret": "5" * 32, **settings})
        self.key = simulator.post(f"apps/{self.bundle_id}/keys")
        self.put_product(self.CONSUMABLE, "Consumable", price=990)
        self.put_product(self.DURABLE, "Non-Consumable", price=4990, isFamilyShareable=True)
        self.put_product(self.SEASON, "Non-Renewing Subscription", price=9990)
        for product, level, period, price in [(self.YEARLY, 1, "P1Y", 49990), (self.MONTHLY, 2, "P1M", 5990)]:
            self.put_product(
                product, "Auto-Renewable Subscription", price=price, level=level, period=period, offers=self.OFFERS,
                subscriptionGroupIdentifier=self.GROUP, isFamilyShareable=True)

    def put_product(self, product, kind, **settings):
        self.simulator.put(
            f"apps/{self.bundle_id}/products/{product}", {"type": kind, "currency": "USD", **settings})

    def sell(self, product, environment=Environment.PRODUCTION, account=None, **order):
        """Sells to an account (a new one without a name) and tells what came of it."""
        return self.simulator.post("sales", {
            "bundleId": self.bundle_id, "productId": product, "environment": environment.value,
            "account": account or new_account(), **order})

    def buy(self, product, environment=Environment.PRODUCTION, account=None, **order):
        """Sells; the signed transaction and its ids."""
        sold = self.sell(product, environment, account, **order)
        assert sold["outcome"] == "bought", sold
        return sold["transactions"][0]

    def client(self, environment):
        return Client(
            self.simulator.base_url(environment), signing_key=self.key["privateKey"].encode(), key_id=self.key["keyId"],
            issuer_id=self.key["issuerId"], bundle_id=self.bundle_id, environment=environment)

    def verifier(self, environment, online=False):
        return SignedDataVerifier([self.simulator.root], online, environment, self.bundle_id, self.apple_id)

    def trigger(self, notification_type, subtype=None, environment=Environment.PRODUCTION, **order):
        """Makes a notification happen; the records of all that it caused, the one asked for among them."""
        body = {"notificationType": notification_type, "bundleId": self.bundle_id, "environment": environment.value,
                **({"subtype": subtype} if subtype else {}), **order}
        return self.simulator.post("trigger", body)["notifications"]


def new_account():
    return f"player-{uuid.uuid4()}"


SIMULATOR = Simulator()
