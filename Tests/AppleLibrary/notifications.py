"""Server notifications: all 23 types with their subtypes and every kind of content."""

import unittest

from appstoreserverlibrary.models.Environment import Environment
from appstoreserverlibrary.models.NotificationTypeV2 import NotificationTypeV2
from appstoreserverlibrary.models.Subtype import Subtype

import fields
from receiver import Receiver
from simulator import ENVIRONMENTS, SIMULATOR, App

# Every type with each subtype that Apple documents for it; None is the notification without one.
TYPES = {
    "SUBSCRIBED": ["INITIAL_BUY", "RESUBSCRIBE"],
    "DID_CHANGE_RENEWAL_PREF": ["UPGRADE", "DOWNGRADE", None],
    "DID_CHANGE_RENEWAL_STATUS": ["AUTO_RENEW_ENABLED", "AUTO_RENEW_DISABLED"],
    "OFFER_REDEEMED": ["UPGRADE", "DOWNGRADE", None],
    "DID_RENEW": [None, "BILLING_RECOVERY"],
    "EXPIRED": ["VOLUNTARY", "BILLING_RETRY", "PRICE_INCREASE", "PRODUCT_NOT_FOR_SALE", None],
    "DID_FAIL_TO_RENEW": ["GRACE_PERIOD", None],
    "GRACE_PERIOD_EXPIRED": [None],
    "PRICE_INCREASE": ["PENDING", "ACCEPTED"],
    "REFUND": [None],
    "REFUND_DECLINED": [None],
    "REFUND_REVERSED": [None],
    "CONSUMPTION_REQUEST": [None],
    "RENEWAL_EXTENDED": [None],
    "RENEWAL_EXTENSION": ["SUMMARY", "FAILURE"],
    "REVOKE": [None],
    "ONE_TIME_CHARGE": [None],
    "EXTERNAL_PURCHASE_TOKEN": ["UNREPORTED", "CREATED", "ACTIVE_TOKEN_REMINDER"],
    "RESCIND_CONSENT": [None],
    "METADATA_UPDATE": [None],
    "MIGRATION": [None],
    "PRICE_CHANGE": [None],
    "TEST": [None],
}
CONTENTS = {"RENEWAL_EXTENSION SUMMARY": "summary", "EXTERNAL_PURCHASE_TOKEN": "externalPurchaseToken",
            "RESCIND_CONSENT": "appData"}


class NotificationTests(unittest.TestCase):
    """Every notification verifies, with all that is signed inside it, and every field is decoded."""

    @classmethod
    def setUpClass(cls):
        cls.app = App(SIMULATOR, isAdvancedCommerce=True)

    def check(self, signed, environment=Environment.PRODUCTION, online=False):
        verifier = self.app.verifier(environment, online)
        decoded = verifier.verify_and_decode_notification(signed)
        fields.check_notification(self, signed, decoded, verifier)
        return decoded

    def test_the_table_is_complete(self):
        self.assertEqual({kind.value for kind in NotificationTypeV2}, set(TYPES))
        documented = {subtype for subtypes in TYPES.values() for subtype in subtypes if subtype}
        missing = {value for name, value in fields.VALUES_NOT_IN_LIBRARY if name == "subtype"}
        self.assertEqual({subtype.value for subtype in Subtype} | missing, documented)

    def test_every_type(self):
        for environment in ENVIRONMENTS:
            for kind, subtypes in TYPES.items():
                for subtype in subtypes:
                    with self.subTest(environment=environment.value, type=kind, subtype=subtype):
                        self.trigger_and_check(environment, kind, subtype)

    def trigger_and_check(self, environment, kind, subtype):
        caused = self.app.trigger(kind, subtype, environment)
        asked_for = [one for one in caused if (one["notificationType"], one.get("subtype")) == (kind, subtype)]
        self.assertTrue(asked_for, f"{kind} {subtype} is not among {[one['notificationType'] for one in caused]}")
        for one in caused:  # What led to it must verify as well.
            self.check(one["signedPayload"], environment)
        raw = fields.payload(asked_for[-1]["signedPayload"])
        content = CONTENTS.get(f"{kind} {subtype}", CONTENTS.get(kind, "data"))
        self.assertIn(content, raw)
        print(f"  {environment.value:10} {kind} {subtype or '-'}: {content}", flush=True)

    def test_delivered_and_verified_online(self):
        """A backend gets what it can verify, the certificates' revocation included."""
        backend = Receiver()
        try:
            SIMULATOR.put(f"apps/{self.app.bundle_id}", {"notificationURLs": {"Sandbox": backend.url + "/apple"}})
            self.app.buy(App.CONSUMABLE, Environment.SANDBOX)
            path, body = backend.next()
            self.assertEqual(("/apple", ["signedPayload"]), (path, list(body)))
            decoded = self.check(body["signedPayload"], Environment.SANDBOX, online=True)
            self.assertEqual(NotificationTypeV2.ONE_TIME_CHARGE, decoded.notificationType)
        finally:
            SIMULATOR.put(f"apps/{self.app.bundle_id}", {"notificationURLs": {"Sandbox": ""}})
            backend.close()
