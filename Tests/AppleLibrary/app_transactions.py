"""App transactions: the proof that an account downloaded the app."""

import base64
import hashlib
import unittest
import uuid

from appstoreserverlibrary.models.Environment import Environment
from appstoreserverlibrary.models.PurchasePlatform import PurchasePlatform

import fields
from simulator import ENVIRONMENTS, SIMULATOR, App, new_account


class AppTransactionTests(unittest.TestCase):
    """Every app transaction verifies, and every field of it is decoded."""

    @classmethod
    def setUpClass(cls):
        cls.app = App(SIMULATOR)

    def decode(self, environment, account, online=False, **query):
        text = "&".join(f"{name}={value}" for name, value in {
            "bundleId": self.app.bundle_id, "account": account, "environment": environment.value, **query}.items())
        signed = SIMULATOR.get(f"app-transactions?{text}")["signedAppTransaction"]
        decoded = self.app.verifier(environment, online).verify_and_decode_app_transaction(signed)
        fields.check(self, fields.payload(signed), decoded)
        return decoded

    def test_both_environments(self):
        for environment in ENVIRONMENTS:
            account = new_account()
            decoded = self.decode(environment, account, online=True)
            self.assertEqual((environment, self.app.bundle_id), (decoded.receiptType, decoded.bundleId))
            self.assertEqual(PurchasePlatform.IOS, decoded.originalPlatform)
            # The same customer has the same one, in purchases too.
            self.assertEqual(decoded.appTransactionId, self.decode(environment, account).appTransactionId)
            bought = self.app.buy(App.CONSUMABLE, environment, account)
            transaction = self.app.verifier(environment).verify_and_decode_signed_transaction(
                bought["signedTransaction"])
            self.assertEqual(decoded.appTransactionId, transaction.appTransactionId)

    def test_device_verification(self):
        """The device's digest is what Apple documents: SHA-384 of the nonce and the device's identifier."""
        account, device, identifier = new_account(), f"phone-{uuid.uuid4()}", str(uuid.uuid4())
        SIMULATOR.put(f"devices/{device}", {"account": account, "vendorIdentifier": identifier})
        decoded = self.decode(Environment.PRODUCTION, account, device=device)
        digest = hashlib.sha384((decoded.deviceVerificationNonce + identifier).encode()).digest()
        self.assertEqual(base64.b64encode(digest).decode(), decoded.deviceVerification)
