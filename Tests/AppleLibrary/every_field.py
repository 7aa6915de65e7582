"""What the other checks saw, all together: every field of Apple's models, every value, every call."""

import importlib
import unittest

import attr

import fields
import server_api

# Models whose every field the simulator writes, but for those below.
MODELS = """
    JWSTransactionDecodedPayload JWSRenewalInfoDecodedPayload AppTransaction ResponseBodyV2DecodedPayload Data Summary
    ExternalPurchaseToken AppData TransactionInfoResponse HistoryResponse StatusResponse
    SubscriptionGroupIdentifierItem LastTransactionsItem RefundHistoryResponse OrderLookupResponse
    AppTransactionInfoResponse NotificationHistoryResponse NotificationHistoryResponseItem SendAttemptItem
    CheckTestNotificationResponse SendTestNotificationResponse ExtendRenewalDateResponse MassExtendRenewalDateResponse
    MassExtendRenewalDateStatusResponse
""".split()
# What the simulator does not play, with the reason.
NOT_PLAYED = {
    "JWSTransactionDecodedPayload.billingPlanType": "12-month commitments are not played",
    "JWSTransactionDecodedPayload.commitmentInfo": "12-month commitments are not played",
    "JWSRenewalInfoDecodedPayload.commitmentInfo": "12-month commitments are not played",
    "JWSRenewalInfoDecodedPayload.renewalBillingPlanType": "12-month commitments are not played",
    "AppTransaction.preorderDate": "nobody preorders",
}
# Where each value of an enumeration was seen; the fields that hold it.
ENUMERATIONS = {
    "NotificationTypeV2": ["ResponseBodyV2DecodedPayload.notificationType"],
    "Subtype": ["ResponseBodyV2DecodedPayload.subtype"],
    "Type": ["JWSTransactionDecodedPayload.type"],
    "InAppOwnershipType": ["JWSTransactionDecodedPayload.inAppOwnershipType"],
    "TransactionReason": ["JWSTransactionDecodedPayload.transactionReason"],
    "OfferType": ["JWSTransactionDecodedPayload.offerType"],
    "RevocationReason": ["JWSTransactionDecodedPayload.revocationReason"],
    "RevocationType": ["JWSTransactionDecodedPayload.revocationType"],
    "AutoRenewStatus": ["JWSRenewalInfoDecodedPayload.autoRenewStatus"],
    "ExpirationIntent": ["JWSRenewalInfoDecodedPayload.expirationIntent"],
    "PriceIncreaseStatus": ["JWSRenewalInfoDecodedPayload.priceIncreaseStatus"],
    "Status": ["Data.status", "LastTransactionsItem.status"],
    "OrderLookupStatus": ["OrderLookupResponse.status"],
}


def model(name):
    return getattr(importlib.import_module(f"appstoreserverlibrary.models.{name}"), name)


class EveryFieldTests(unittest.TestCase):
    """Runs last."""

    def test_every_field_was_seen(self):
        for name in MODELS:
            for field in attr.fields(model(name)):
                place = f"{name}.{field.name}"
                if not field.name.startswith("raw"):
                    with self.subTest(field=place):
                        self.assertNotEqual(place in NOT_PLAYED, place in fields.SEEN,
                                            NOT_PLAYED.get(place, "no answer or payload had it"))

    def test_every_value_was_seen(self):
        for name, places in ENUMERATIONS.items():
            seen = set().union(*(fields.SEEN[place] for place in places))
            with self.subTest(enumeration=name):
                self.assertEqual(set(), {value.value for value in model(name)} - seen)

    def test_every_call_was_made(self):
        self.assertEqual(set(), server_api.calls() - server_api.CALLED)
