"""Renewal information in every state of a subscription."""

import unittest
import uuid

from appstoreserverlibrary.models.AutoRenewStatus import AutoRenewStatus
from appstoreserverlibrary.models.Environment import Environment
from appstoreserverlibrary.models.ExpirationIntent import ExpirationIntent
from appstoreserverlibrary.models.OfferType import OfferType
from appstoreserverlibrary.models.PriceIncreaseStatus import PriceIncreaseStatus

import fields
from simulator import ENVIRONMENTS, SIMULATOR, App, new_account


class RenewalInfoTests(unittest.TestCase):
    """Every renewal info verifies, and every field of it is decoded."""

    @classmethod
    def setUpClass(cls):
        cls.app = App(SIMULATOR, gracePeriod="SIXTEEN_DAYS")

    def subscribe(self, environment=Environment.PRODUCTION, account=None, product=App.MONTHLY, **order):
        return self.app.buy(product, environment, account, **order)["originalTransactionId"]

    def decode(self, subscription, environment=Environment.PRODUCTION, online=False):
        signed = SIMULATOR.get(f"subscriptions/{subscription}")["signedRenewalInfo"]
        decoded = self.app.verifier(environment, online).verify_and_decode_renewal_info(signed)
        fields.check(self, fields.payload(signed), decoded)
        return decoded

    def act(self, subscription, action, **body):
        SIMULATOR.post(f"subscriptions/{subscription}/{action}", body)

    def test_active(self):
        for environment in ENVIRONMENTS:
            subscription = self.subscribe(environment, appAccountToken=str(uuid.uuid4()))
            decoded = self.decode(subscription, environment, online=True)
            self.assertEqual(AutoRenewStatus.ON, decoded.autoRenewStatus)
            self.assertEqual(5990, decoded.renewalPrice)
            self.assertEqual(environment, decoded.environment)

    def test_cancelled_then_expired_then_won_back(self):
        subscription = self.subscribe()
        self.act(subscription, "auto-renew", on=False)
        self.assertEqual(AutoRenewStatus.OFF, self.decode(subscription).autoRenewStatus)
        SIMULATOR.post("clock/advance", {"by": "P2M"})
        decoded = self.decode(subscription)
        self.assertEqual(ExpirationIntent.CUSTOMER_CANCELLED, decoded.expirationIntent)
        self.assertEqual(["come-back"], decoded.eligibleWinBackOfferIds)

    def test_grace_period_and_billing_retry(self):
        subscription = self.subscribe()
        self.act(subscription, "payment", fails=True)
        SIMULATOR.post("clock/advance", {"by": "P1M"})
        SIMULATOR.post("clock/advance", {"by": "36h"})
        decoded = self.decode(subscription)
        self.assertTrue(decoded.isInBillingRetryPeriod)
        self.assertIsNotNone(decoded.gracePeriodExpiresDate)
        SIMULATOR.post("clock/advance", {"by": "P20D"})
        self.assertTrue(self.decode(subscription).isInBillingRetryPeriod)
        SIMULATOR.post("clock/advance", {"by": "P60D"})
        self.assertEqual(ExpirationIntent.BILLING_ERROR, self.decode(subscription).expirationIntent)

    def test_downgrade_waits_for_the_renewal(self):
        account = new_account()
        subscription = self.subscribe(account=account, product=App.YEARLY)
        self.assertEqual("changesAtRenewal", self.app.sell(App.MONTHLY, account=account)["outcome"])
        decoded = self.decode(subscription)
        self.assertEqual((App.YEARLY, App.MONTHLY), (decoded.productId, decoded.autoRenewProductId))

    def test_offer_of_the_next_period(self):
        """Pay as you go runs for three periods, so after the first the next has the offer too."""
        account = new_account()
        first = self.subscribe(account=account)
        self.act(first, "auto-renew", on=False)
        SIMULATOR.post("clock/advance", {"by": "P2M"})
        again = self.subscribe(account=account, offer={"kind": "promotional", "identifier": "come-closer"})
        decoded = self.decode(again)
        self.assertEqual((OfferType.PROMOTIONAL_OFFER, "come-closer", 1990),
                         (decoded.offerType, decoded.offerIdentifier, decoded.renewalPrice))

    def test_price_increase(self):
        product = "gold.dearer"
        self.app.put_product(product, "Auto-Renewable Subscription", price=1000, period="P1Y",
                             subscriptionGroupIdentifier="21000002")
        subscription = self.subscribe(product=product)
        SIMULATOR.post(f"apps/{self.app.bundle_id}/products/{product}/price-increase",
                       {"price": 2000, "needsConsent": True})
        self.assertEqual(PriceIncreaseStatus.CUSTOMER_HAS_NOT_RESPONDED, self.decode(subscription).priceIncreaseStatus)
        self.act(subscription, "price-consent", agrees=True)
        self.assertEqual(PriceIncreaseStatus.CUSTOMER_CONSENTED_OR_WAS_NOTIFIED_WITHOUT_NEEDING_CONSENT,
                         self.decode(subscription).priceIncreaseStatus)

    def test_product_not_for_sale(self):
        product = "gold.gone"
        self.app.put_product(product, "Auto-Renewable Subscription", price=1000, period="P1M",
                             subscriptionGroupIdentifier="21000003")
        subscription = self.subscribe(product=product)
        SIMULATOR.post(f"apps/{self.app.bundle_id}/products/{product}/stop-selling")
        SIMULATOR.post("clock/advance", {"by": "P2M"})
        self.assertEqual(ExpirationIntent.PRODUCT_NOT_AVAILABLE, self.decode(subscription).expirationIntent)
