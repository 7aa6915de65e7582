"""Offers that Apple's library signs: the simulator sells with them, and with nothing that was changed."""

import time
import unittest
import uuid

from appstoreserverlibrary.jws_signature_creator import (
    IntroductoryOfferEligibilitySignatureCreator, PromotionalOfferV2SignatureCreator)
from appstoreserverlibrary.promotional_offer import PromotionalOfferSignatureCreator

from simulator import SIMULATOR, App, ControlError, new_account

OFFER = "come-closer"
DAY = 86_400_000


class OfferSignatureTests(unittest.TestCase):
    """Both of Apple's forms; what the simulator takes here, intake's tests hold intake to, with openssl."""

    @classmethod
    def setUpClass(cls):
        cls.app = App(SIMULATOR)
        cls.signing_key = cls.app.key["privateKey"].encode()

    def subscriber(self):
        account = new_account()
        self.app.buy(App.MONTHLY, account=account)
        return account

    def customer(self):
        """An account, and a transaction of its own."""
        account = new_account()
        return account, self.app.buy(App.CONSUMABLE, account=account)["transactionId"]

    def sell(self, signed, kind="promotional", product=App.YEARLY, identifier=OFFER, account=None, **order):
        offer = {"kind": kind, "signed": signed, **({"identifier": identifier} if identifier else {})}
        return self.app.sell(product, account=account or self.subscriber(), offer=offer, **order)

    def refused(self, word, signed, **order):
        with self.assertRaisesRegex(ControlError, word):
            self.sell(signed, **order)

    def signature(self, token="", product=App.YEARLY, age=0):
        nonce, timestamp = uuid.uuid4(), int(time.time() * 1_000) - age
        creator = PromotionalOfferSignatureCreator(self.signing_key, self.app.key["keyId"], self.app.bundle_id)
        return {"keyId": self.app.key["keyId"], "nonce": str(nonce), "timestamp": timestamp,
                "signature": creator.create_signature(product, OFFER, token, nonce, timestamp)}

    def creator(self, kind, **changes):
        named = {"signing_key": self.signing_key, "key_id": self.app.key["keyId"],
                 "issuer_id": self.app.key["issuerId"], "bundle_id": self.app.bundle_id, **changes}
        return kind(**named)

    def test_signature(self):
        token = str(uuid.uuid4())
        self.assertEqual("bought", self.sell(self.signature(token.upper()), appAccountToken=token)["outcome"])
        self.assertEqual("bought", self.sell(self.signature())["outcome"])

    def test_signature_of_something_else(self):
        token, good = str(uuid.uuid4()), self.signature()
        self.refused("not of this purchase", good, appAccountToken=token)
        self.refused("not of this purchase", self.signature(token))
        self.refused("not of this purchase", self.signature(product=App.MONTHLY))
        self.refused("not of this purchase", {**good, "timestamp": good["timestamp"] + 1})
        self.refused("not of this purchase", {**good, "nonce": str(uuid.uuid4())})
        self.refused("24 hours", self.signature(age=DAY + 1))
        self.refused("no such key", {**good, "keyId": "OTHER"})
        self.refused("DER", {**good, "signature": "AAAA"})

    def test_jws(self):
        creator = self.creator(PromotionalOfferV2SignatureCreator)
        account, own = self.customer()
        self.app.buy(App.MONTHLY, account=account)
        signed = {"jws": creator.create_signature(App.YEARLY, OFFER, own)}
        self.assertEqual("bought", self.sell(signed, account=account)["outcome"])
        self.refused("another customer's", {"jws": creator.create_signature(App.YEARLY, OFFER, own)})
        self.refused("another customer's", {"jws": creator.create_signature(App.YEARLY, OFFER, "1")})
        self.assertEqual("bought", self.sell({"jws": creator.create_signature(App.YEARLY, OFFER, None)})["outcome"])
        self.refused("productId", {"jws": creator.create_signature(App.MONTHLY, OFFER, None)})
        self.refused("offerIdentifier", {"jws": creator.create_signature(App.YEARLY, "another", None)})
        for change in ["issuer_id", "bundle_id"]:
            other = self.creator(PromotionalOfferV2SignatureCreator, **{change: "another"})
            self.refused("another's", {"jws": other.create_signature(App.YEARLY, OFFER, None)})
        self.refused("none", {"jws": "a.b.c"})

    def test_introductory_offer(self):
        creator = self.creator(IntroductoryOfferEligibilitySignatureCreator)
        def sell(allowed):
            account, own = self.customer()
            return self.sell({"jws": creator.create_signature(App.MONTHLY, allowed, own)}, kind="introductory",
                             product=App.MONTHLY, identifier=None, account=account)
        self.assertEqual("bought", sell(True)["outcome"])
        with self.assertRaisesRegex(ControlError, "allows no"):
            sell(False)
        promotional = self.creator(PromotionalOfferV2SignatureCreator).create_signature(App.MONTHLY, OFFER, "1")
        self.refused("aud", {"jws": promotional}, kind="introductory", product=App.MONTHLY, identifier=None)
