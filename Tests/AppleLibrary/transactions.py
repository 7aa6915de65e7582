"""Signed transactions: all product types, offers, Family Sharing, refunds, upgrades."""

import unittest
import uuid

from appstoreserverlibrary.models.Environment import Environment
from appstoreserverlibrary.models.InAppOwnershipType import InAppOwnershipType
from appstoreserverlibrary.models.OfferType import OfferType
from appstoreserverlibrary.models.RevocationReason import RevocationReason
from appstoreserverlibrary.models.RevocationType import RevocationType
from appstoreserverlibrary.models.Type import Type
from appstoreserverlibrary.signed_data_verifier import VerificationException, VerificationStatus

import fields
from simulator import ENVIRONMENTS, SIMULATOR, App, new_account


class TransactionTests(unittest.TestCase):
    """Every transaction verifies, and every field of it is decoded."""

    @classmethod
    def setUpClass(cls):
        cls.app = App(SIMULATOR)

    def decode(self, signed, environment=Environment.PRODUCTION, online=False):
        decoded = self.app.verifier(environment, online).verify_and_decode_signed_transaction(signed)
        fields.check(self, fields.payload(signed), decoded)
        return decoded

    def current(self, transaction_id, environment=Environment.PRODUCTION):
        """The transaction as it is signed now."""
        return self.decode(SIMULATOR.get(f"transactions/{transaction_id}")["signedTransaction"], environment)

    def test_product_types(self):
        products = [(App.CONSUMABLE, Type.CONSUMABLE), (App.DURABLE, Type.NON_CONSUMABLE),
                    (App.SEASON, Type.NON_RENEWING_SUBSCRIPTION), (App.MONTHLY, Type.AUTO_RENEWABLE_SUBSCRIPTION)]
        for environment in ENVIRONMENTS:
            for product, kind in products:
                with self.subTest(environment=environment.value, product=product):
                    token = str(uuid.uuid4())
                    bought = self.app.buy(product, environment, appAccountToken=token)
                    decoded = self.decode(bought["signedTransaction"], environment)
                    self.assertEqual(kind, decoded.type)
                    self.assertEqual(token, decoded.appAccountToken)
                    self.assertEqual(bought["transactionId"], decoded.transactionId)
                    self.assertEqual(environment, decoded.environment)

    def test_quantity_price_and_storefront(self):
        bought = self.app.buy(App.CONSUMABLE, quantity=7, storefront="DEU", storefrontId="143443", currency="EUR",
                              price=1290)
        decoded = self.decode(bought["signedTransaction"])
        self.assertEqual((7, "DEU", "143443", "EUR"),
                         (decoded.quantity, decoded.storefront, decoded.storefrontId, decoded.currency))
        self.assertGreater(decoded.price, 0)

    def test_online_checks(self):
        """The chain's certificates are asked about at the simulator's own OCSP responder."""
        for environment in ENVIRONMENTS:
            bought = self.app.buy(App.CONSUMABLE, environment)
            self.decode(bought["signedTransaction"], environment, online=True)

    def test_offers(self):
        for kind, identifier, offer_type in [("introductory", None, OfferType.INTRODUCTORY_OFFER),
                                             ("promotional", "come-closer", OfferType.PROMOTIONAL_OFFER),
                                             ("code", "SUMMER", OfferType.OFFER_CODE)]:
            with self.subTest(offer=kind):
                account = new_account()
                if kind == "promotional":  # For those who had a subscription before.
                    self.lapse(self.app.buy(App.MONTHLY, account=account))
                offer = {"kind": kind, **({"identifier": identifier} if identifier else {})}
                decoded = self.decode(self.app.buy(App.MONTHLY, account=account, offer=offer)["signedTransaction"])
                self.assertEqual(offer_type, decoded.offerType)
                self.assertEqual(identifier, decoded.offerIdentifier)

    def test_win_back_offer(self):
        account = new_account()
        self.lapse(self.app.buy(App.MONTHLY, account=account))
        bought = self.app.buy(App.MONTHLY, account=account, offer={"kind": "winBack", "identifier": "come-back"})
        self.assertEqual(OfferType.WIN_BACK_OFFER, self.decode(bought["signedTransaction"]).offerType)

    def lapse(self, bought):
        """Lets a subscription end: the customer cancels, and two months pass."""
        SIMULATOR.post(f"subscriptions/{bought['originalTransactionId']}/auto-renew", {"on": False})
        SIMULATOR.post("clock/advance", {"by": "P2M"})

    def test_family_sharing_and_its_end(self):
        family, parent, child = new_account(), new_account(), new_account()
        for account in (parent, child):
            SIMULATOR.put(f"accounts/{account}", {"family": family})
        self.app.buy(App.DURABLE, account=parent)
        history = self.notified(child, "ONE_TIME_CHARGE")
        decoded = self.decode(history["data"]["signedTransactionInfo"])
        self.assertEqual(InAppOwnershipType.FAMILY_SHARED, decoded.inAppOwnershipType)
        SIMULATOR.post(f"accounts/{child}/leave-family")
        decoded = self.current(decoded.transactionId)
        self.assertEqual(RevocationType.FAMILY_REVOKE, decoded.revocationType)

    def test_restored_and_granted_again(self):
        """Further transactions of a purchase verify, and differ from the first in their ids alone."""
        for environment in ENVIRONMENTS:
            account, device = new_account(), f"phone-{uuid.uuid4()}"
            SIMULATOR.put(f"devices/{device}", {"account": account})
            bought = [self.app.buy(product, environment, account) for product in (App.MONTHLY, App.DURABLE)]
            restored = SIMULATOR.post(f"devices/{device}/restore", {
                "bundleId": self.app.bundle_id, "environment": environment.value, "purchaseDate": "purchase"})
            for first, second in zip(bought, restored["transactions"], strict=True):
                again = SIMULATOR.post(f"transactions/{first['transactionId']}/regrant")["transactions"][0]
                decoded = [self.decode(each["signedTransaction"], environment) for each in (first, second, again)]
                self.assertEqual(3, len({each.transactionId for each in decoded}))
                for each in decoded[1:]:
                    for name in ("originalTransactionId", "webOrderLineItemId", "productId", "purchaseDate",
                                 "expiresDate", "originalPurchaseDate", "appTransactionId", "price"):
                        self.assertEqual(getattr(decoded[0], name), getattr(each, name), name)

    def test_family_copy_without_a_line_item(self):
        app, family = App(SIMULATOR, familyWebOrderLineItem="none"), new_account()
        parent, child, device = new_account(), new_account(), f"phone-{uuid.uuid4()}"
        for account in (parent, child):
            SIMULATOR.put(f"accounts/{account}", {"family": family})
        SIMULATOR.put(f"devices/{device}", {"account": child})
        bought = app.buy(App.MONTHLY, account=parent)
        listed = SIMULATOR.get(f"devices/{device}/transactions?bundleId={app.bundle_id}")["transactions"]
        verifier = app.verifier(Environment.PRODUCTION)
        decoded = verifier.verify_and_decode_signed_transaction(listed[0]["signedTransaction"])
        self.assertEqual(InAppOwnershipType.FAMILY_SHARED, decoded.inAppOwnershipType)
        self.assertIsNone(decoded.webOrderLineItemId)
        self.assertIsNone(decoded.price)
        self.assertNotEqual(bought["originalTransactionId"], decoded.originalTransactionId)

    def notified(self, account, notification_type):
        """The last notification of a type that is about an account's transaction."""
        listed = SIMULATOR.get(f"notifications?bundleId={self.app.bundle_id}&limit=1000")["notifications"]
        for record in reversed(listed):
            if record["notificationType"] == notification_type and record.get("transactionId"):
                if SIMULATOR.get(f"transactions/{record['transactionId']}")["account"] == account:
                    return fields.payload(record["signedPayload"])
        raise AssertionError(f"no {notification_type} about {account}")

    def test_full_refund(self):
        bought = self.app.buy(App.CONSUMABLE)
        SIMULATOR.post(f"transactions/{bought['transactionId']}/refund", {"reason": 1})
        decoded = self.current(bought["transactionId"])
        self.assertEqual(RevocationReason.REFUNDED_DUE_TO_ISSUE, decoded.revocationReason)
        self.assertEqual(RevocationType.REFUND_FULL, decoded.revocationType)
        SIMULATOR.post(f"transactions/{bought['transactionId']}/reverse-refund")
        self.assertIsNone(self.current(bought["transactionId"]).revocationDate)

    def test_prorated_refund(self):
        bought = self.app.buy(App.YEARLY)
        SIMULATOR.post(f"transactions/{bought['transactionId']}/refund", {"percentage": 25_000, "reason": 0})
        decoded = self.current(bought["transactionId"])
        self.assertEqual(RevocationReason.REFUNDED_FOR_OTHER_REASON, decoded.revocationReason)
        self.assertEqual((RevocationType.REFUND_PRORATED, 25_000),
                         (decoded.revocationType, decoded.revocationPercentage))

    def test_upgrade(self):
        account = new_account()
        old = self.app.buy(App.MONTHLY, account=account)
        self.app.buy(App.YEARLY, account=account)
        self.assertTrue(self.current(old["transactionId"]).isUpgraded)

    def test_advanced_commerce_information_is_passed_on(self):
        info = {"requestReferenceId": str(uuid.uuid4()), "taxCode": "C003-00-1",
                "descriptors": {"description": "A game", "displayName": "Game"}}
        bought = self.app.buy(App.CONSUMABLE, advancedCommerceInfo=info)
        self.assertEqual("C003-00-1", self.decode(bought["signedTransaction"]).advancedCommerceInfo.taxCode)

    def test_another_app_and_another_environment_are_refused(self):
        signed = self.app.buy(App.CONSUMABLE)["signedTransaction"]
        other = App(SIMULATOR)
        for verifier, status in [
                (other.verifier(Environment.PRODUCTION), VerificationStatus.INVALID_APP_IDENTIFIER),
                (self.app.verifier(Environment.SANDBOX), VerificationStatus.INVALID_ENVIRONMENT)]:
            with self.assertRaises(VerificationException) as raised:
                verifier.verify_and_decode_signed_transaction(signed)
            self.assertEqual(status, raised.exception.status)
