"""The simulator's payloads beside genuine ones of the same situation: the same fields, in the same order."""

import os
import pathlib
import unittest

from appstoreserverlibrary.models.Environment import Environment

import fields
from simulator import SIMULATOR, App, new_account

VECTORS = pathlib.Path(os.environ.get("COUNTERSIGN_VECTORS") or "missing") / "jws-apple"
# Older payloads lack what Apple has added since.
SINCE = 1_735_689_600_000  # 2025-01-01
# Fields that a genuine payload signed before this instant does not have; from the vectors and Apple's changelogs.
ADDED = {"appTransactionId": 1_745_000_000_000, "revocationType": 1_765_000_000_000,
         "revocationPercentage": 1_765_000_000_000}


def load_vectors():
    found = [(path.stem, fields.payload(path.read_text().strip())) for path in sorted(VECTORS.glob("*.jws"))]
    return [(name, payload) for name, payload in found if payload["signedDate"] >= SINCE]


@unittest.skipUnless(VECTORS.is_dir(), "SKIPPED: COUNTERSIGN_VECTORS does not name a folder with jws-apple")
class GenuineFieldTests(unittest.TestCase):
    """All genuine ones are from the sandbox, of apps without offers, bought without an account token."""

    @classmethod
    def setUpClass(cls):
        cls.vectors = load_vectors()
        cls.app = App(SIMULATOR)
        for product, level in [("plain.large", 1), ("plain.small", 2)]:
            cls.app.put_product(product, "Auto-Renewable Subscription", price=1990, period="P1M", level=level,
                                subscriptionGroupIdentifier="21000005")
        cls.live(cls.buy("plain.small"))
        listed = SIMULATOR.get(f"notifications?bundleId={cls.app.bundle_id}&limit=1000")["notifications"]
        cls.notifications = {
            (one["notificationType"], one.get("subtype")): fields.payload(one["signedPayload"]) for one in listed}

    @classmethod
    def buy(cls, product, account=None):
        account = account or new_account()
        return account, cls.app.buy(product, Environment.SANDBOX, account)

    @classmethod
    def live(cls, bought):
        """One subscriber does everything that the genuine ones did."""
        account, first = bought
        path = f"subscriptions/{first['originalTransactionId']}"
        SIMULATOR.post(f"{path}/auto-renew", {"on": False})
        SIMULATOR.post("clock/advance", {"by": "P2M"})  # EXPIRED VOLUNTARY
        cls.buy("plain.small", account)  # SUBSCRIBED RESUBSCRIBE
        cls.buy("plain.large", account)  # DID_CHANGE_RENEWAL_PREF UPGRADE
        SIMULATOR.post(f"{path}/plan", {"productId": "plain.small"})
        SIMULATOR.post(f"{path}/plan", {"productId": "plain.large"})  # DID_CHANGE_RENEWAL_PREF: undone
        latest = SIMULATOR.get(path)["transaction"]["transactionId"]
        SIMULATOR.post(f"transactions/{latest}/refund-request", {"reason": "LEGAL"})  # CONSUMPTION_REQUEST

    def compare(self, genuine, simulated, signed_date=None):
        """The same names in the same order, but for what is younger than the genuine one."""
        signed_date = signed_date or genuine["signedDate"]
        expected = [name for name in simulated if ADDED.get(name, 0) <= signed_date]
        self.assertEqual(list(genuine), expected)

    def test_there_are_vectors(self):
        self.assertGreater(len(self.vectors), 5)

    def test_notifications(self):
        for name, genuine in self.vectors:
            if "notificationType" not in genuine:
                continue
            with self.subTest(genuine=name):
                kind = (genuine["notificationType"], genuine.get("subtype"))
                self.assertIn(kind, self.notifications)
                simulated = self.notifications[kind]
                self.compare(genuine, simulated)
                self.compare(genuine["data"], simulated["data"], genuine["signedDate"])
                for part in ("signedTransactionInfo", "signedRenewalInfo"):
                    self.compare(fields.payload(genuine["data"][part]), fields.payload(simulated["data"][part]))
                print(f"  {kind[0]} {kind[1] or '-'}: as {name[:60]}", flush=True)

    def test_transactions_and_renewal_infos(self):
        _, active = self.buy("plain.small")
        path = f"subscriptions/{active['originalTransactionId']}"
        renewal_info = fields.payload(SIMULATOR.get(path)["signedRenewalInfo"])
        SIMULATOR.post("clock/advance", {"by": "P1M"})
        SIMULATOR.post("clock/advance", {"by": "P1D"})
        _, refunded = self.buy("plain.small")
        SIMULATOR.post(f"transactions/{refunded['transactionId']}/refund", {"reason": 0})
        subscription = {"PURCHASE": fields.payload(active["signedTransaction"]),
                        "RENEWAL": fields.payload(SIMULATOR.get(path)["signedTransaction"])}
        for name, genuine in self.vectors:
            with self.subTest(genuine=name):
                if "autoRenewStatus" in genuine:
                    simulated = renewal_info
                elif "revocationDate" in genuine:
                    signed = SIMULATOR.get(f"transactions/{refunded['transactionId']}")["signedTransaction"]
                    simulated = fields.payload(signed)
                elif genuine.get("type") == "Consumable":
                    simulated = fields.payload(self.buy(App.CONSUMABLE)[1]["signedTransaction"])
                elif "transactionReason" in genuine:
                    simulated = subscription[genuine["transactionReason"]]
                else:
                    continue
                self.compare(genuine, simulated)
                print(f"  {genuine.get('type', 'renewal info')}: as {name[:60]}", flush=True)
