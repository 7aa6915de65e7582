"""Apple's asynchronous client: the same calls, over another HTTP library."""

import unittest
import uuid

from appstoreserverlibrary.api_client import APIError, APIException, AsyncAppStoreServerAPIClient
from appstoreserverlibrary.api_client import GetTransactionHistoryVersion
from appstoreserverlibrary.models.ConsumptionRequest import ConsumptionRequest
from appstoreserverlibrary.models.DeliveryStatus import DeliveryStatus
from appstoreserverlibrary.models.NotificationHistoryRequest import NotificationHistoryRequest
from appstoreserverlibrary.models.TransactionHistoryRequest import TransactionHistoryRequest
from appstoreserverlibrary.models.UpdateAppAccountTokenRequest import UpdateAppAccountTokenRequest

import fields
from simulator import ENVIRONMENTS, SIMULATOR, App

try:
    import httpx
except ImportError:
    httpx = None

DAY = 86_400_000


class AsyncClient(AsyncAppStoreServerAPIClient):
    """With another base URL; remembers the last answer."""

    def __init__(self, base_url, **arguments):
        super().__init__(**arguments)
        self._base_url = base_url
        self.answer = None

    async def _execute_request(self, *arguments, **named):
        self.answer = await super()._execute_request(*arguments, **named)
        return self.answer


@unittest.skipIf(httpx is None, "SKIPPED: httpx is missing: the library was installed without [async]")
class AsyncClientTests(unittest.IsolatedAsyncioTestCase):
    """One call of each kind; the synchronous client makes them all."""

    async def test_calls(self):
        for environment in ENVIRONMENTS:
            with self.subTest(environment=environment.value):
                app = App(SIMULATOR)
                client = AsyncClient(
                    SIMULATOR.base_url(environment), signing_key=app.key["privateKey"].encode(),
                    key_id=app.key["keyId"], issuer_id=app.key["issuerId"], bundle_id=app.bundle_id,
                    environment=environment)
                try:
                    await self.make_calls(app, client, environment)
                finally:
                    await client.async_close()

    async def make_calls(self, app, client, environment):
        bought = app.buy(App.MONTHLY, environment)["transactionId"]
        now = SIMULATOR.get("clock")["now"]
        for call in [
                client.get_transaction_info(bought), client.get_app_transaction_info(bought),
                client.get_all_subscription_statuses(bought), client.get_refund_history(bought, None),
                client.get_transaction_history(
                    bought, None, TransactionHistoryRequest(revoked=False), GetTransactionHistoryVersion.V2),
                client.get_notification_history(None, NotificationHistoryRequest(startDate=now - DAY, endDate=now + DAY)),
                client.look_up_order_id(SIMULATOR.get(f"transactions/{bought}")["orderId"])]:
            result = await call
            fields.check(self, client.answer.json(), result)
        await client.set_app_account_token(bought, UpdateAppAccountTokenRequest(appAccountToken=str(uuid.uuid4())))
        await client.finish_transaction(bought)
        gems = app.buy(App.CONSUMABLE, environment)["transactionId"]
        SIMULATOR.post(f"transactions/{gems}/refund-request", {})
        await client.send_consumption_information(gems, ConsumptionRequest(
            customerConsented=True, sampleContentProvided=True, deliveryStatus=DeliveryStatus.DELIVERED))
        with self.assertRaises(APIException) as raised:
            await client.get_transaction_info("2999999999999999")
        self.assertEqual(APIError.TRANSACTION_ID_NOT_FOUND, raised.exception.api_error)
