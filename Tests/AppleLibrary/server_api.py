"""The App Store Server API: every call of Apple's client but those of retention messaging, in both environments."""

import inspect
import unittest
import uuid
import warnings

from appstoreserverlibrary.api_client import APIError, APIException, AppStoreServerAPIClient, GetTransactionHistoryVersion
from appstoreserverlibrary.models.AccountTenure import AccountTenure
from appstoreserverlibrary.models.ConsumptionRequest import ConsumptionRequest
from appstoreserverlibrary.models.ConsumptionRequestV1 import ConsumptionRequestV1
from appstoreserverlibrary.models.ConsumptionStatus import ConsumptionStatus
from appstoreserverlibrary.models.DeliveryStatus import DeliveryStatus
from appstoreserverlibrary.models.DeliveryStatusV1 import DeliveryStatusV1
from appstoreserverlibrary.models.ExtendReasonCode import ExtendReasonCode
from appstoreserverlibrary.models.ExtendRenewalDateRequest import ExtendRenewalDateRequest
from appstoreserverlibrary.models.InAppOwnershipType import InAppOwnershipType
from appstoreserverlibrary.models.LifetimeDollarsPurchased import LifetimeDollarsPurchased
from appstoreserverlibrary.models.LifetimeDollarsRefunded import LifetimeDollarsRefunded
from appstoreserverlibrary.models.MassExtendRenewalDateRequest import MassExtendRenewalDateRequest
from appstoreserverlibrary.models.NotificationHistoryRequest import NotificationHistoryRequest
from appstoreserverlibrary.models.NotificationTypeV2 import NotificationTypeV2
from appstoreserverlibrary.models.OrderLookupStatus import OrderLookupStatus
from appstoreserverlibrary.models.Platform import Platform
from appstoreserverlibrary.models.PlayTime import PlayTime
from appstoreserverlibrary.models.RefundPreference import RefundPreference
from appstoreserverlibrary.models.RefundPreferenceV1 import RefundPreferenceV1
from appstoreserverlibrary.models.SendAttemptResult import SendAttemptResult
from appstoreserverlibrary.models.Status import Status
from appstoreserverlibrary.models.TransactionHistoryRequest import Order, ProductType, TransactionHistoryRequest
from appstoreserverlibrary.models.UpdateAppAccountTokenRequest import UpdateAppAccountTokenRequest
from appstoreserverlibrary.models.UserStatus import UserStatus

import fields
from receiver import Receiver
from simulator import ENVIRONMENTS, SIMULATOR, App, new_account

DAY = 86_400_000
# Calls that the simulator does not play: Countersign makes none of them.
RETENTION_MESSAGING = set("""
    configure_default_message configure_realtime_url delete_default_message delete_image delete_message delete_realtime_url
    get_default_message get_image_list get_message_list get_performance_test_results get_realtime_url
    initiate_performance_test upload_image upload_message
""".split())
# Every call that was made in this run; every_field.py looks at it.
CALLED = set()


class APITests(unittest.TestCase):
    """Calls, decodes, and compares each answer with its raw JSON; subclasses say in which environment."""

    environment = None

    @classmethod
    def setUpClass(cls):
        if cls.environment is None:
            raise unittest.SkipTest("the base class")
        cls.app = App(SIMULATOR)
        cls.client = cls.app.client(cls.environment)
        cls.verifier = cls.app.verifier(cls.environment)

    def call(self, name, *arguments, client=None, **named):
        """One call; what it answered, every field of it checked."""
        client = client or self.client
        CALLED.add(name)
        result = getattr(client, name)(*arguments, **named)
        if result is not None:
            fields.check(self, client.answer.json(), result)
        return result

    def transaction(self, signed):
        decoded = self.verifier.verify_and_decode_signed_transaction(signed)
        fields.check(self, fields.payload(signed), decoded)
        return decoded

    def buy(self, product=App.CONSUMABLE, account=None, **order):
        return self.app.buy(product, self.environment, account, **order)


class Transactions:
    """What was bought."""

    def test_transaction_info(self):
        bought = self.buy()
        answer = self.call("get_transaction_info", bought["transactionId"])
        self.assertEqual(bought["transactionId"], self.transaction(answer.signedTransactionInfo).transactionId)

    def test_app_transaction_info(self):
        bought = self.buy()
        answer = self.call("get_app_transaction_info", bought["transactionId"])
        decoded = self.verifier.verify_and_decode_app_transaction(answer.signedAppTransactionInfo)
        fields.check(self, fields.payload(answer.signedAppTransactionInfo), decoded)
        self.assertEqual(self.transaction(bought["signedTransaction"]).appTransactionId, decoded.appTransactionId)
        # The app transaction's own id does as well.
        self.call("get_app_transaction_info", decoded.appTransactionId)

    def test_history_in_pages(self):
        account = new_account()
        bought = [self.buy(account=account)["transactionId"] for _ in range(23)]
        request = TransactionHistoryRequest(sort=Order.ASCENDING)
        found, revision, pages = [], None, 0
        while True:
            answer = self.call("get_transaction_history", bought[0], revision, request, GetTransactionHistoryVersion.V2)
            found += [self.transaction(signed).transactionId for signed in answer.signedTransactions]
            revision, pages = answer.revision, pages + 1
            if not answer.hasMore:
                break
        self.assertEqual((bought, 2), (found, pages))
        self.assertEqual((self.environment, self.app.bundle_id), (answer.environment, answer.bundleId))

    def test_history_filters(self):
        account, now = new_account(), SIMULATOR.get("clock")["now"]
        gems, gold = self.buy(account=account), self.buy(App.MONTHLY, account=account)
        SIMULATOR.post(f"transactions/{gems['transactionId']}/refund", {"reason": 0})
        only_gems, only_gold = [gems["transactionId"]], [gold["transactionId"]]
        for request, expected in [
                (TransactionHistoryRequest(productIds=[App.MONTHLY]), only_gold),
                (TransactionHistoryRequest(productTypes=[ProductType.CONSUMABLE]), only_gems),
                (TransactionHistoryRequest(subscriptionGroupIdentifiers=[App.GROUP]), only_gold),
                (TransactionHistoryRequest(revoked=True), only_gems),
                (TransactionHistoryRequest(revoked=False), only_gold),
                (TransactionHistoryRequest(inAppOwnershipType=InAppOwnershipType.FAMILY_SHARED), []),
                (TransactionHistoryRequest(startDate=now + 400 * DAY, endDate=now + 401 * DAY), []),
                (TransactionHistoryRequest(startDate=now - DAY, endDate=now + DAY, sort=Order.DESCENDING), None)]:
            with self.subTest(request=request):
                answer = self.call("get_transaction_history", gold["transactionId"], None, request,
                                   GetTransactionHistoryVersion.V2)
                found = [self.transaction(signed).transactionId for signed in answer.signedTransactions]
                self.assertEqual(expected if expected is not None else sorted(found, key=found.index), found)

    def test_any_id_of_a_purchase(self):
        bought = self.buy(App.DURABLE)
        granted = SIMULATOR.post(f"transactions/{bought['transactionId']}/regrant", {"count": 2})["transactions"]
        ids = [each["transactionId"] for each in [bought, *granted]]
        SIMULATOR.post(f"transactions/{ids[1]}/refund", {"reason": 0})
        for identifier in ids:
            info = self.call("get_transaction_info", identifier)
            decoded = self.transaction(info.signedTransactionInfo)
            self.assertEqual((identifier, ids[0]), (decoded.transactionId, decoded.originalTransactionId))
            self.assertEqual(identifier == ids[1], decoded.revocationDate is not None)
            history = self.call("get_transaction_history", identifier, None, TransactionHistoryRequest(),
                                GetTransactionHistoryVersion.V2)
            self.assertEqual(sorted(ids), sorted(
                self.transaction(signed).transactionId for signed in history.signedTransactions))
            refunds = self.call("get_refund_history", identifier, None)
            self.assertEqual([ids[1]], [self.transaction(signed).transactionId for signed in refunds.signedTransactions])

    def test_refund_history(self):
        account = new_account()
        kept, refunded = self.buy(account=account), self.buy(account=account)
        SIMULATOR.post(f"transactions/{refunded['transactionId']}/refund", {"reason": 1})
        answer = self.call("get_refund_history", kept["transactionId"], None)
        self.assertEqual([refunded["transactionId"]],
                         [self.transaction(signed).transactionId for signed in answer.signedTransactions])
        self.assertFalse(answer.hasMore)
        again = self.call("get_refund_history", kept["transactionId"], answer.revision)
        self.assertEqual([], again.signedTransactions)

    def test_order(self):
        bought = self.buy()
        order = SIMULATOR.get(f"transactions/{bought['transactionId']}")["orderId"]
        answer = self.call("look_up_order_id", order)
        self.assertEqual(OrderLookupStatus.VALID, answer.status)
        self.assertEqual([bought["transactionId"]],
                         [self.transaction(signed).transactionId for signed in answer.signedTransactions])
        self.assertEqual(OrderLookupStatus.INVALID, self.call("look_up_order_id", "NOSUCHORDER").status)

    def test_finish(self):
        bought = self.buy()
        self.assertIsNone(self.call("finish_transaction", bought["transactionId"]))
        self.assertTrue(SIMULATOR.get(f"transactions/{bought['transactionId']}")["isFinished"])

    def test_app_account_token(self):
        bought, token = self.buy(App.MONTHLY), uuid.uuid4()
        self.call("set_app_account_token", bought["originalTransactionId"],
                  UpdateAppAccountTokenRequest(appAccountToken=str(token)))
        info = self.call("get_transaction_info", bought["transactionId"])
        self.assertEqual(str(token), self.transaction(info.signedTransactionInfo).appAccountToken)

    def test_consumption(self):
        bought = self.buy()["transactionId"]
        SIMULATOR.post(f"transactions/{bought}/refund-request", {"reason": "UNINTENDED_PURCHASE"})
        self.call("send_consumption_information", bought, ConsumptionRequest(
            customerConsented=True, sampleContentProvided=False, deliveryStatus=DeliveryStatus.DELIVERED,
            consumptionPercentage=50_000, refundPreference=RefundPreference.DECLINE))
        self.assertEqual(202, self.client.answer.status_code)
        kept = SIMULATOR.get(f"consumption-answers?transactionId={bought}")["consumptionAnswers"]
        self.assertEqual(50_000, kept[-1]["body"]["consumptionPercentage"])

    def test_consumption_version_1(self):
        bought = self.buy()["transactionId"]
        SIMULATOR.post(f"transactions/{bought}/refund-request", {})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            self.call("send_consumption_data", bought, ConsumptionRequestV1(
                customerConsented=True, consumptionStatus=ConsumptionStatus.FULLY_CONSUMED, platform=Platform.APPLE,
                sampleContentProvided=True, deliveryStatus=DeliveryStatusV1.DELIVERED_AND_WORKING_PROPERLY,
                appAccountToken=str(uuid.uuid4()), accountTenure=AccountTenure.ZERO_TO_THREE_DAYS,
                playTime=PlayTime.FIVE_TO_SIXTY_MINUTES,
                lifetimeDollarsRefunded=LifetimeDollarsRefunded.ZERO_DOLLARS,
                lifetimeDollarsPurchased=LifetimeDollarsPurchased.ZERO_DOLLARS, userStatus=UserStatus.ACTIVE,
                refundPreference=RefundPreferenceV1.PREFER_GRANT))
        self.assertEqual(202, self.client.answer.status_code)


class Subscriptions:
    """Statuses and extensions."""

    def test_statuses(self):
        account = new_account()
        bought = self.buy(App.MONTHLY, account=account)
        answer = self.call("get_all_subscription_statuses", bought["transactionId"])
        self.assertEqual([App.GROUP], [group.subscriptionGroupIdentifier for group in answer.data])
        item = answer.data[0].lastTransactions[0]
        self.assertEqual((Status.ACTIVE, bought["originalTransactionId"]), (item.status, item.originalTransactionId))
        self.transaction(item.signedTransactionInfo)
        info = self.verifier.verify_and_decode_renewal_info(item.signedRenewalInfo)
        fields.check(self, fields.payload(item.signedRenewalInfo), info)
        filtered = self.call("get_all_subscription_statuses", bought["transactionId"], [Status.EXPIRED, Status.REVOKED])
        self.assertEqual([], [one for group in filtered.data for one in group.lastTransactions])

    def test_status_after_a_refund(self):
        bought = self.buy(App.MONTHLY)
        SIMULATOR.post(f"transactions/{bought['transactionId']}/refund", {"reason": 0})
        answer = self.call("get_all_subscription_statuses", bought["originalTransactionId"], [Status.REVOKED])
        self.assertEqual([Status.REVOKED], [one.status for group in answer.data for one in group.lastTransactions])

    def test_extension(self):
        bought = self.buy(App.MONTHLY)
        identifier = str(uuid.uuid4())
        answer = self.call("extend_subscription_renewal_date", bought["originalTransactionId"], ExtendRenewalDateRequest(
            extendByDays=14, extendReasonCode=ExtendReasonCode.CUSTOMER_SATISFACTION, requestIdentifier=identifier))
        self.assertTrue(answer.success)
        before = self.transaction(bought["signedTransaction"])
        self.assertEqual(before.webOrderLineItemId, answer.webOrderLineItemId)
        self.assertEqual(14 * DAY, answer.effectiveDate - before.expiresDate)

    def test_mass_extension(self):
        product = "gold.many"
        self.app.put_product(product, "Auto-Renewable Subscription", price=1000, period="P1Y",
                             subscriptionGroupIdentifier="21000009")
        for _ in range(3):
            self.buy(product, storefront="DEU")
        identifier = str(uuid.uuid4())
        answer = self.call("extend_renewal_date_for_all_active_subscribers", MassExtendRenewalDateRequest(
            extendByDays=3, extendReasonCode=ExtendReasonCode.SERVICE_ISSUE_OR_OUTAGE, requestIdentifier=identifier,
            storefrontCountryCodes=["DEU", "FRA"], productId=product))
        self.assertEqual(identifier, answer.requestIdentifier)
        self.call("get_status_of_subscription_renewal_date_extensions", identifier, product)
        SIMULATOR.post("clock/advance", {"by": "P2D"})
        status = self.call("get_status_of_subscription_renewal_date_extensions", identifier, product)
        self.assertTrue(status.complete)
        self.assertEqual((3, 0), (status.succeededCount, status.failedCount))
        told = [one for one in SIMULATOR.get(f"notifications?bundleId={self.app.bundle_id}&limit=1000")["notifications"]
                if one.get("subtype") == "SUMMARY" and one["environment"] == self.environment.value]
        decoded = self.verifier.verify_and_decode_notification(told[-1]["signedPayload"])
        fields.check_notification(self, told[-1]["signedPayload"], decoded, self.verifier)
        self.assertEqual((identifier, ["DEU", "FRA"]),
                         (decoded.summary.requestIdentifier, decoded.summary.storefrontCountryCodes))


class Notifications:
    """What was sent."""

    def test_test_notification(self):
        backend = Receiver()
        try:
            SIMULATOR.put(f"apps/{self.app.bundle_id}", {"notificationURLs": {self.environment.value: backend.url}})
            token = self.call("request_test_notification").testNotificationToken
            _, body = backend.next()
            answer = self.until_attempted(lambda: self.call("get_test_notification_status", token))
            self.assertEqual(body["signedPayload"], answer.signedPayload)
            self.assertEqual([SendAttemptResult.SUCCESS], [one.sendAttemptResult for one in answer.sendAttempts])
            decoded = self.verifier.verify_and_decode_notification(answer.signedPayload)
            self.assertEqual(NotificationTypeV2.TEST, decoded.notificationType)
        finally:
            SIMULATOR.put(f"apps/{self.app.bundle_id}", {"notificationURLs": {self.environment.value: ""}})
            backend.close()

    def until_attempted(self, ask):
        """Asks again while the attempt that has just arrived is not in the record yet; a test's has no status until then."""
        for _ in range(7):
            try:
                answer = ask()
                if answer.sendAttempts:
                    return answer
            except APIException as error:
                if error.api_error != APIError.TEST_NOTIFICATION_NOT_FOUND:
                    raise
            SIMULATOR.post("clock/advance", {"by": 1})
        return ask()

    def test_history_of_notifications(self):
        """What was sent, or tried: apps without a URL have no history."""
        backend = Receiver()
        try:
            SIMULATOR.put(f"apps/{self.app.bundle_id}", {"notificationURLs": {self.environment.value: backend.url}})
            account = new_account()
            bought = [self.buy(account=account) for _ in range(23)]
            other = self.buy()
            for _ in range(24):
                backend.next()
            self.read_history(bought, other)
        finally:
            SIMULATOR.put(f"apps/{self.app.bundle_id}", {"notificationURLs": {self.environment.value: ""}})
            backend.close()

    def read_history(self, bought, other):
        now = SIMULATOR.get("clock")["now"]
        window = {"startDate": now - DAY, "endDate": now + DAY}
        request = NotificationHistoryRequest(**window, notificationType=NotificationTypeV2.ONE_TIME_CHARGE)
        found, token = 0, None
        while True:
            answer = self.call("get_notification_history", token, request)
            found += len(answer.notificationHistory)
            token = answer.paginationToken
            if not answer.hasMore:
                break
        self.assertEqual(24, found)
        # Any transaction of a customer names all of the customer's.
        of_customer = self.call("get_notification_history", None, NotificationHistoryRequest(
            **window, transactionId=bought[7]["transactionId"]))
        self.assertEqual((20, True), (len(of_customer.notificationHistory), of_customer.hasMore))
        of_one = self.call("get_notification_history", None, NotificationHistoryRequest(
            **window, transactionId=other["transactionId"]))
        self.assertEqual(1, len(of_one.notificationHistory))
        self.assertEqual([SendAttemptResult.SUCCESS],
                         [one.sendAttemptResult for one in of_one.notificationHistory[0].sendAttempts])
        signed = of_one.notificationHistory[0].signedPayload
        decoded = self.verifier.verify_and_decode_notification(signed)
        fields.check_notification(self, signed, decoded, self.verifier)


class ProductionTests(APITests, Transactions, Subscriptions, Notifications):
    """In production."""

    environment = ENVIRONMENTS[0]


class SandboxTests(APITests, Transactions, Subscriptions, Notifications):
    """In the sandbox."""

    environment = ENVIRONMENTS[1]


def calls():
    """The name of every call of Apple's client that the simulator plays."""
    return {name for name, _ in inspect.getmembers(AppStoreServerAPIClient, inspect.isfunction)
            if not name.startswith("_")} - RETENTION_MESSAGING
