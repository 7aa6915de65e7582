"""Forged transactions: the library refuses each that it can see through."""

import unittest

from appstoreserverlibrary.models.Environment import Environment

from simulator import SIMULATOR, App

# Wrong in a way that Apple's library does not look at: each is named with what it would take to see it.
VALUES = "the store's own signature over a field that is missing or has a strange value: it copies or converts them"
JSON_TEXT = "the store's own signature over strange JSON, which Python's parser reads"
BEYOND_THE_LIBRARY = {
    "padded_base64": "PyJWT reads base64url with padding, which RFC 7515 forbids",
    "foreign_root_genuine_below": "the root in x5c is never looked at: the trusted one takes its place",
    "leaf_is_an_authority": "the leaf's basic constraints are not looked at",
    "signed_date_missing": "without it the chain is checked at the present time",
    **dict.fromkeys(["duplicate_bundle_id", "duplicate_bundle_id_escaped", "half_surrogate", "deep_nesting"], JSON_TEXT),
    **dict.fromkeys(["nul_in_product", "negative_quantity", "zero_quantity", "fractional_quantity", "huge_quantity",
                     "quantity_of_text", "transaction_id_of_number", "missing_transaction_id", "empty_transaction_id",
                     "missing_product"], VALUES),
}


class ForgeryTests(unittest.TestCase):
    """What `POST forgeries` makes, shown to the verifier."""

    @classmethod
    def setUpClass(cls):
        cls.app = App(SIMULATOR)
        cls.kinds = [one["kind"] for one in SIMULATOR.get("forgeries")["kinds"]]

    def accepted(self, kind):
        """Whether the library takes a forgery for genuine."""
        forged = SIMULATOR.post("forgeries", {
            "kind": kind, "bundleId": self.app.bundle_id, "productId": App.CONSUMABLE, "type": "Consumable"})
        try:
            self.app.verifier(Environment.PRODUCTION).verify_and_decode_signed_transaction(forged["signedTransaction"])
            return True
        except Exception as error:  # Hostile input makes it raise more than its own exception.
            print(f"  {kind}: {type(error).__name__} {error}"[:110], flush=True)
            return False

    def test_refused(self):
        self.assertGreater(len(self.kinds), 10)
        for kind in self.kinds:
            if kind not in BEYOND_THE_LIBRARY:
                with self.subTest(kind=kind):
                    self.assertFalse(self.accepted(kind), f"{kind} was accepted")

    def test_what_the_library_does_not_see_is_still_so(self):
        for kind in BEYOND_THE_LIBRARY:
            with self.subTest(kind=kind):
                self.assertIn(kind, self.kinds)
                self.assertTrue(self.accepted(kind), f"{kind} is refused now: take it out of the table")
