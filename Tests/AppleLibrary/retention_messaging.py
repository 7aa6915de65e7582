"""The Retention Messaging API: images, messages, defaults, the real-time URL and its performance test."""

import struct
import time
import unittest
import uuid
import zlib

from appstoreserverlibrary.api_client import APIError, APIException
from appstoreserverlibrary.models.BulletPoint import BulletPoint
from appstoreserverlibrary.models.DefaultConfigurationRequest import DefaultConfigurationRequest
from appstoreserverlibrary.models.Environment import Environment
from appstoreserverlibrary.models.HeaderPosition import HeaderPosition
from appstoreserverlibrary.models.ImageSize import ImageSize
from appstoreserverlibrary.models.ImageState import ImageState
from appstoreserverlibrary.models.MessageState import MessageState
from appstoreserverlibrary.models.PerformanceTestRequest import PerformanceTestRequest
from appstoreserverlibrary.models.PerformanceTestStatus import PerformanceTestStatus
from appstoreserverlibrary.models.RealtimeUrlRequest import RealtimeUrlRequest
from appstoreserverlibrary.models.UploadMessageImage import UploadMessageImage
from appstoreserverlibrary.models.UploadMessageRequestBody import UploadMessageRequestBody

import fields
from receiver import Receiver
from server_api import APITests
from simulator import ENVIRONMENTS, SIMULATOR, App

TEST_SECONDS = 60
LOCALE = "en-US"


def png(width, height):
    """A white PNG without transparency."""
    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    pixels = zlib.compress((b"\0" + b"\xff" * width) * height, 9)
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


class Retention(APITests):
    """What both environments have in common."""

    def refused(self, error, name, *arguments):
        with self.assertRaises(APIException) as raised:
            self.call(name, *arguments)
        self.assertEqual(error, raised.exception.api_error, str(raised.exception))

    def upload_message(self, **more):
        identifier = uuid.uuid4()
        self.call("upload_message", identifier, UploadMessageRequestBody(header="Stay", body="Do not go.", **more))
        return identifier

    def upload_image(self, size=ImageSize.FULL_SIZE):
        identifier = uuid.uuid4()
        data = png(3840, 160) if size == ImageSize.FULL_SIZE else png(1024, 1024)
        self.call("upload_image", identifier, data, size)
        return identifier

    def approve(self, *identifiers):
        for identifier in identifiers:
            SIMULATOR.post(f"retention-messaging/{identifier}/review", {"state": "APPROVED"})


class RetentionCalls:
    """The calls."""

    def test_images_and_messages(self):
        image, point = self.upload_image(), self.upload_image(ImageSize.BULLET_POINT)
        listed = {one.imageIdentifier: one for one in self.call("get_image_list").imageIdentifiers}
        at_first = "APPROVED" if self.environment == Environment.SANDBOX else "PENDING"
        self.assertEqual((ImageSize.FULL_SIZE, ImageState(at_first)),
                         (listed[image].imageSize, listed[image].imageState))
        message = self.upload_message(
            image=UploadMessageImage(imageIdentifier=image, altText="A castle"),
            headerPosition=HeaderPosition.ABOVE_IMAGE,
            bulletPoints=[BulletPoint(text="All levels", imageIdentifier=point, altText="A dot")])
        states = {one.messageIdentifier: one.messageState
                  for one in self.call("get_message_list").messageIdentifiers}
        self.assertEqual(MessageState(at_first), states[message])
        self.refused(APIError.IMAGE_ALREADY_EXISTS, "upload_image", image, png(3840, 160), None)
        self.refused(APIError.INVALID_IMAGE, "upload_image", uuid.uuid4(), b"GIF89a", None)
        self.refused(APIError.MESSAGE_ALREADY_EXISTS, "upload_message", message,
                     UploadMessageRequestBody(header="h", body="b"))
        self.refused(APIError.IMAGE_IN_USE, "delete_image", image)
        self.call("delete_message", message)
        self.call("delete_image", image)
        self.refused(APIError.IMAGE_NOT_FOUND, "delete_image", image)
        self.refused(APIError.MESSAGE_NOT_FOUND, "delete_message", message)

    def test_default_messages(self):
        message = self.upload_message()
        SIMULATOR.post(f"retention-messaging/{message}/review", {"state": "REJECTED"})
        request = DefaultConfigurationRequest(messageIdentifier=message)
        self.refused(APIError.MESSAGE_NOT_APPROVED, "configure_default_message", App.MONTHLY, LOCALE, request)
        self.approve(message)
        self.call("configure_default_message", App.MONTHLY, LOCALE, request)
        answer = self.call("get_default_message", App.MONTHLY, LOCALE)
        self.assertEqual(message, answer.messageIdentifier)
        self.call("delete_default_message", App.MONTHLY, LOCALE)
        self.refused(APIError.DEFAULT_MESSAGE_NOT_FOUND, "get_default_message", App.MONTHLY, LOCALE)
        self.refused(APIError.INVALID_LOCALE, "get_default_message", App.MONTHLY, "English")

    def test_real_time(self):
        """The URL, a performance test of a backend that is really asked, and a customer who is about to cancel."""
        message = self.upload_message()
        self.approve(message)
        backend = Receiver({"message": {"messageIdentifier": str(message)}})
        try:
            if self.environment == Environment.PRODUCTION:
                self.refused(APIError.FORBIDDEN_NO_PASSING_TEST, "configure_realtime_url",
                             RealtimeUrlRequest(realtimeURL=backend.url))
                self.pass_test(backend, Environment.SANDBOX)
            self.pass_test(backend, self.environment)
            subscription = self.buy(App.MONTHLY)["originalTransactionId"]
            shown = SIMULATOR.post("retention-messaging/realtime", {"originalTransactionId": subscription})
            self.assertEqual(("SUCCESS", "realtime", str(message)),
                             (shown["result"], shown["shown"], shown["messageIdentifier"]))
            self.check_request(shown["signedPayload"], self.environment)
        finally:
            backend.close()
        self.call("delete_realtime_url")
        self.refused(APIError.REALTIME_URL_NOT_FOUND, "get_realtime_url")
        self.refused(APIError.BAD_REQUEST_REALTIME_URL, "configure_realtime_url", RealtimeUrlRequest(realtimeURL="x"))
        self.refused(APIError.PERFORMANCE_TEST_RUN_NOT_FOUND, "get_performance_test_results", str(uuid.uuid4()))

    def pass_test(self, backend, environment):
        client = self.app.client(environment)
        backend.clear()
        self.call("configure_realtime_url", RealtimeUrlRequest(realtimeURL=backend.url), client=client)
        self.assertEqual(backend.url, self.call("get_realtime_url", client=client).realtimeURL)
        subscription = self.app.buy(App.MONTHLY, environment)["originalTransactionId"]
        started = self.call("initiate_performance_test",
                            PerformanceTestRequest(originalTransactionId=subscription), client=client)
        _, body = backend.next()
        self.check_request(body["signedPayload"], environment, online=True)
        end = time.monotonic() + TEST_SECONDS
        while True:
            result = self.call("get_performance_test_results", started.requestId, client=client)
            if result.result != PerformanceTestStatus.PENDING or time.monotonic() > end:
                break
            time.sleep(0.2)
        self.assertEqual((PerformanceTestStatus.PASS, backend.url, started.config),
                         (result.result, result.target, result.config), str(result))

    def check_request(self, signed, environment, online=False):
        decoded = self.app.verifier(environment, online).verify_and_decode_realtime_request(signed)
        fields.check(self, fields.payload(signed), decoded)
        self.assertEqual((App.MONTHLY, self.app.apple_id), (decoded.productId, decoded.appAppleId))

    def test_a_failing_backend_fails_the_test(self):
        """Nobody listens; the kinds of failure are counted."""
        backend = Receiver()
        backend.close()
        client = self.app.client(Environment.SANDBOX)
        self.call("configure_realtime_url", RealtimeUrlRequest(realtimeURL=backend.url), client=client)
        subscription = self.app.buy(App.MONTHLY, Environment.SANDBOX)["originalTransactionId"]
        started = self.call("initiate_performance_test",
                            PerformanceTestRequest(originalTransactionId=subscription), client=client)
        end = time.monotonic() + TEST_SECONDS
        while time.monotonic() < end:
            result = self.call("get_performance_test_results", started.requestId, client=client)
            if result.result != PerformanceTestStatus.PENDING:
                break
            time.sleep(0.2)
        self.assertEqual((PerformanceTestStatus.FAIL, 0), (result.result, result.successRate))
        self.assertGreater(sum(result.failures.values()), 0)


class RetentionProductionTests(RetentionCalls, Retention):
    """In production, where Apple looks at what is uploaded."""

    environment = ENVIRONMENTS[0]


class RetentionSandboxTests(RetentionCalls, Retention):
    """In the sandbox, where everything is approved."""

    environment = ENVIRONMENTS[1]
