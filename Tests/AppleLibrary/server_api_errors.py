"""Refusals: each arrives as Apple's exception with the right code."""

import time
import unittest
import uuid

from appstoreserverlibrary.api_client import APIError, APIException, GetTransactionHistoryVersion
from appstoreserverlibrary.models.ConsumptionRequest import ConsumptionRequest
from appstoreserverlibrary.models.DeliveryStatus import DeliveryStatus
from appstoreserverlibrary.models.Environment import Environment
from appstoreserverlibrary.models.ExtendReasonCode import ExtendReasonCode
from appstoreserverlibrary.models.ExtendRenewalDateRequest import ExtendRenewalDateRequest
from appstoreserverlibrary.models.MassExtendRenewalDateRequest import MassExtendRenewalDateRequest
from appstoreserverlibrary.models.NotificationHistoryRequest import NotificationHistoryRequest
from appstoreserverlibrary.models.NotificationTypeV2 import NotificationTypeV2
from appstoreserverlibrary.models.TransactionHistoryRequest import TransactionHistoryRequest
from appstoreserverlibrary.models.UpdateAppAccountTokenRequest import UpdateAppAccountTokenRequest

from simulator import SIMULATOR, App, Client, new_account

DAY = 86_400_000


class RefusalTests(unittest.TestCase):
    """Errors of the API, and what the library makes of them."""

    @classmethod
    def setUpClass(cls):
        cls.app = App(SIMULATOR)
        cls.client = cls.app.client(Environment.PRODUCTION)

    def refused(self, error, call, *arguments, client=None):
        """The call fails with this error, and its code begins with its status."""
        with self.assertRaises(APIException) as raised:
            call(*arguments)
        self.assertEqual(error, raised.exception.api_error, str(raised.exception))
        self.assertEqual(error // 10_000, raised.exception.http_status_code)
        self.assertTrue(raised.exception.error_message)
        return raised.exception

    def test_transactions(self):
        client = self.client
        self.refused(APIError.TRANSACTION_ID_NOT_FOUND, client.get_transaction_info, "2999999999999999")
        self.refused(APIError.INVALID_TRANSACTION_ID, client.get_transaction_info, "gold")
        self.refused(APIError.TRANSACTION_ID_NOT_FOUND, client.finish_transaction, "2999999999999999")
        self.refused(APIError.TRANSACTION_ID_NOT_FOUND, client.get_refund_history, "2999999999999999", None)

    def test_an_environment_knows_only_its_own(self):
        for here, there in [(Environment.PRODUCTION, Environment.SANDBOX), (Environment.SANDBOX, Environment.PRODUCTION)]:
            bought = self.app.buy(App.CONSUMABLE, here)
            self.app.client(here).get_transaction_info(bought["transactionId"])
            self.refused(APIError.TRANSACTION_ID_NOT_FOUND, self.app.client(there).get_transaction_info,
                         bought["transactionId"])

    def test_an_app_knows_only_its_own(self):
        bought = self.app.buy(App.CONSUMABLE)
        self.refused(APIError.TRANSACTION_ID_NOT_FOUND, App(SIMULATOR).client(Environment.PRODUCTION)
                     .get_transaction_info, bought["transactionId"])

    def test_history(self):
        bought, ask = self.app.buy(App.CONSUMABLE)["transactionId"], self.client.get_transaction_history
        version = GetTransactionHistoryVersion.V2
        self.refused(APIError.INVALID_REQUEST_REVISION, ask, bought, "no revision", TransactionHistoryRequest(), version)
        self.refused(APIError.START_DATE_AFTER_END_DATE, ask, bought, None,
                     TransactionHistoryRequest(startDate=2 * DAY, endDate=DAY), version)

    def test_app_account_token(self):
        account = new_account()
        bought = self.app.buy(App.MONTHLY, account=account)
        SIMULATOR.post("clock/advance", {"by": "P1M"})
        SIMULATOR.post("clock/advance", {"by": "P1D"})
        renewal = SIMULATOR.get(f"subscriptions/{bought['originalTransactionId']}")["transaction"]["transactionId"]
        self.assertNotEqual(bought["transactionId"], renewal)
        request = UpdateAppAccountTokenRequest(appAccountToken=str(uuid.uuid4()))
        self.refused(APIError.TRANSACTION_ID_IS_NOT_ORIGINAL_TRANSACTION_ID_ERROR, self.client.set_app_account_token,
                     renewal, request)
        self.refused(APIError.INVALID_APP_ACCOUNT_TOKEN_UUID_ERROR, self.client.set_app_account_token,
                     bought["originalTransactionId"], UpdateAppAccountTokenRequest(appAccountToken="me"))

    def test_consumption_without_consent(self):
        bought = self.app.buy(App.CONSUMABLE)["transactionId"]
        SIMULATOR.post(f"transactions/{bought}/refund-request", {})
        self.refused(APIError.INVALID_CUSTOMER_CONSENTED, self.client.send_consumption_information, bought,
                     ConsumptionRequest(customerConsented=False, sampleContentProvided=False,
                                        deliveryStatus=DeliveryStatus.DELIVERED))

    def test_extensions(self):
        def request(days):
            return ExtendRenewalDateRequest(extendByDays=days, extendReasonCode=ExtendReasonCode.OTHER,
                                            requestIdentifier=str(uuid.uuid4()))
        extend = self.client.extend_subscription_renewal_date
        bought = self.app.buy(App.YEARLY)["originalTransactionId"]
        self.refused(APIError.INVALID_EXTEND_BY_DAYS, extend, bought, request(91))
        for _ in range(2):
            extend(bought, request(1))
        self.refused(APIError.SUBSCRIPTION_MAX_EXTENSION, extend, bought, request(1))
        ended = self.app.buy(App.MONTHLY)["originalTransactionId"]
        SIMULATOR.post(f"subscriptions/{ended}/auto-renew", {"on": False})
        SIMULATOR.post("clock/advance", {"by": "P2M"})
        self.refused(APIError.SUBSCRIPTION_EXTENSION_INELIGIBLE, extend, ended, request(1))
        self.refused(APIError.ORIGINAL_TRANSACTION_ID_NOT_FOUND, extend, "2999999999999999", request(1))

    def test_mass_extension(self):
        extend = self.client.extend_renewal_date_for_all_active_subscribers
        for storefronts, error in [([], APIError.INVALID_EMPTY_STOREFRONT_COUNTRY_CODE_LIST),
                                   (["Germany"], APIError.INVALID_STOREFRONT_COUNTRY_CODE)]:
            self.refused(error, extend, MassExtendRenewalDateRequest(
                extendByDays=1, extendReasonCode=ExtendReasonCode.OTHER, requestIdentifier=str(uuid.uuid4()),
                storefrontCountryCodes=storefronts, productId=App.MONTHLY))
        self.refused(APIError.STATUS_REQUEST_NOT_FOUND, self.client.get_status_of_subscription_renewal_date_extensions,
                     str(uuid.uuid4()), App.MONTHLY)

    def test_notifications(self):
        self.refused(APIError.SERVER_NOTIFICATION_URL_NOT_FOUND, self.client.request_test_notification)
        self.refused(APIError.TEST_NOTIFICATION_NOT_FOUND, self.client.get_test_notification_status,
                     f"{uuid.uuid4()}_{SIMULATOR.get('clock')['now']}")
        now, ask = SIMULATOR.get("clock")["now"], self.client.get_notification_history
        for request, error in [
                (NotificationHistoryRequest(startDate=now, endDate=now - DAY), APIError.START_DATE_AFTER_END_DATE),
                (NotificationHistoryRequest(startDate=now - 181 * DAY, endDate=now), APIError.START_DATE_TOO_FAR_IN_PAST),
                (NotificationHistoryRequest(startDate=now - DAY, endDate=now, transactionId="1",
                                            notificationType=NotificationTypeV2.REFUND),
                 APIError.MULTIPLE_FILTERS_SUPPLIED)]:
            self.refused(error, ask, None, request)
        self.refused(APIError.INVALID_PAGINATION_TOKEN, ask, "no token",
                     NotificationHistoryRequest(startDate=now - DAY, endDate=now))

    def test_tokens_that_are_not_good(self):
        """A 401 has no numeric code."""
        good = {"signing_key": self.app.key["privateKey"].encode(), "key_id": self.app.key["keyId"],
                "issuer_id": self.app.key["issuerId"], "bundle_id": self.app.bundle_id,
                "environment": Environment.PRODUCTION}
        other = App(SIMULATOR)
        unreleased = App(SIMULATOR, isReleased=False)
        for name, client in [
                ("key", Client(SIMULATOR.base_url(Environment.PRODUCTION),
                               **{**good, "signing_key": other.key["privateKey"].encode()})),
                ("key id", Client(SIMULATOR.base_url(Environment.PRODUCTION), **{**good, "key_id": "AAAAAAAAAA"})),
                ("issuer", Client(SIMULATOR.base_url(Environment.PRODUCTION),
                                  **{**good, "issuer_id": str(uuid.uuid4())})),
                ("bundle", Client(SIMULATOR.base_url(Environment.PRODUCTION),
                                  **{**good, "bundle_id": other.bundle_id})),
                ("unreleased app", unreleased.client(Environment.PRODUCTION))]:
            with self.subTest(wrong=name), self.assertRaises(APIException) as raised:
                client.get_transaction_info("2000000000000001")
            self.assertEqual((401, None), (raised.exception.http_status_code, raised.exception.api_error))

    def test_rate_limit(self):
        """The sandbox has few requests to give; Retry-After is UNIX time in milliseconds, which the library leaves alone."""
        client = App(SIMULATOR).client(Environment.SANDBOX)
        for _ in range(500):
            with self.assertRaises(APIException) as raised:
                client.get_test_notification_status(f"{uuid.uuid4()}_0")
            if raised.exception.http_status_code == 429:
                break
        self.assertEqual(APIError.RATE_LIMIT_EXCEEDED, raised.exception.api_error)
        retry_after = int(client.answer.headers["Retry-After"])
        now = time.time() * 1000
        self.assertTrue(now - 60_000 < retry_after < now + 2 * 3_600_000, retry_after)

    def test_rate_limit_on_demand(self):
        client = self.app.client(Environment.PRODUCTION)
        bought = self.app.buy(App.CONSUMABLE)["transactionId"]
        SIMULATOR.put("faults", {"rules": [
            {"match": {"environment": "Production", "path": f"/inApps/v1/transactions/{bought}"}, "count": 1,
             "fault": {"kind": "status", "status": 429, "retryAfterMs": 5000}}]})
        try:
            self.refused(APIError.RATE_LIMIT_EXCEEDED, client.get_transaction_info, bought)
            self.assertGreater(int(client.answer.headers["Retry-After"]), time.time() * 1000 - 60_000)
            client.get_transaction_info(bought)
        finally:
            SIMULATOR.call("DELETE", "faults")

    def test_retryable_internal_error(self):
        bought = self.app.buy(App.CONSUMABLE)["transactionId"]
        SIMULATOR.put("faults", {"rules": [
            {"match": {"path": f"/inApps/v1/transactions/{bought}"}, "count": 1,
             "fault": {"kind": "status", "status": 500, "errorCode": 5000001}}]})
        try:
            self.refused(APIError.GENERAL_INTERNAL_RETRYABLE, self.client.get_transaction_info, bought)
        finally:
            SIMULATOR.call("DELETE", "faults")
