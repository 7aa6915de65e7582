"""Legacy receipts: Apple's receipt utility finds a transaction id in them."""

import unittest
import uuid

from appstoreserverlibrary.receipt_utility import ReceiptUtility

from simulator import ENVIRONMENTS, SIMULATOR, App, new_account


class ReceiptTests(unittest.TestCase):
    """The utility reads PKCS#7 receipts; the simulator makes no transactional receipts, which Apple gave up long ago."""

    @classmethod
    def setUpClass(cls):
        cls.app = App(SIMULATOR)

    def receipt(self, environment, account, **query):
        text = "&".join(f"{name}={value}" for name, value in {
            "bundleId": self.app.bundle_id, "account": account, "environment": environment.value, **query}.items())
        return SIMULATOR.get(f"receipts?{text}")["receipt"]

    def test_transaction_id(self):
        for environment in ENVIRONMENTS:
            for product in (App.CONSUMABLE, App.DURABLE, App.SEASON, App.MONTHLY):
                with self.subTest(environment=environment.value, product=product):
                    account = new_account()
                    bought = self.app.buy(product, environment, account)
                    found = ReceiptUtility().extract_transaction_id_from_app_receipt(
                        self.receipt(environment, account))
                    self.assertEqual(bought["transactionId"], found)
                    # It is good for the API, which is what the utility is for.
                    self.app.client(environment).get_transaction_info(found)

    def test_several_purchases_on_a_device(self):
        environment, account, device = ENVIRONMENTS[0], new_account(), f"phone-{uuid.uuid4()}"
        SIMULATOR.put(f"devices/{device}", {"account": account})
        bought = {self.app.buy(product, environment, account, device=device)["transactionId"]
                  for product in (App.CONSUMABLE, App.DURABLE, App.MONTHLY)}
        found = ReceiptUtility().extract_transaction_id_from_app_receipt(
            self.receipt(environment, account, device=device))
        self.assertIn(found, bought)

    def test_restored_on_another_device(self):
        environment, account, device = ENVIRONMENTS[0], new_account(), f"phone-{uuid.uuid4()}"
        SIMULATOR.put(f"devices/{device}", {"account": account})
        bought = self.app.buy(App.DURABLE, environment, account)
        restored = SIMULATOR.post(f"devices/{device}/restore", {"bundleId": self.app.bundle_id})["transactions"]
        found = ReceiptUtility().extract_transaction_id_from_app_receipt(
            self.receipt(environment, account, device=device))
        self.assertEqual([each["transactionId"] for each in restored], [found])
        self.assertNotEqual(bought["transactionId"], found)
        self.app.client(environment).get_transaction_info(found)

    def test_no_purchases(self):
        receipt = self.receipt(ENVIRONMENTS[0], new_account())
        self.assertIsNone(ReceiptUtility().extract_transaction_id_from_app_receipt(receipt))
