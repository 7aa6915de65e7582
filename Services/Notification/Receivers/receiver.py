"""Receives Countersign's webhooks, with nothing but Python.

usage: COUNTERSIGN_WEBHOOK_SECRET=whsec_… python3 receiver.py PORT      (two secrets, with a space, while you rotate)
"""
import base64, hmac, json, os, sys, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRETS = [base64.b64decode(text.removeprefix("whsec_")) for text in os.environ["COUNTERSIGN_WEBHOOK_SECRET"].split()]
TOLERANCE_SECONDS, BODY_BYTES = 300, 1 << 20
seen, newest = set(), {}  # Yours are tables: written in one transaction with what an event does.


def is_genuine(headers, body):
    """Over the bytes as they came: JSON that was read and written again is another text."""
    name, at = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not at.isdecimal() or abs(time.time() - int(at)) > TOLERANCE_SECONDS:
        return False
    signed = f"{name}.{at}.".encode() + body
    good = ["v1," + base64.b64encode(hmac.digest(secret, signed, "sha256")).decode() for secret in SECRETS]
    given = headers.get("webhook-signature", "").split()
    return any(hmac.compare_digest(one.encode(), other.encode()) for one in good for other in given)


def take(event):
    if not event["type"].startswith("iap."):
        return event["type"]  # countersign.ping, which is about nobody.
    if event["id"] in seen:
        return "seen before"
    customer = event.get("customer", {"id": "nobody", "sequence": 0})
    whose = event["app"], event["environment"], customer["id"]
    # Items are added whatever came before; where something stands is what the highest sequence says.
    is_newest = customer["sequence"] >= newest.get(whose, 0)
    newest[whose] = max(newest.get(whose, 0), customer["sequence"])
    seen.add(event["id"])
    return f"{event['type']} {customer['id']} {event['data']['entries']} {'newest' if is_newest else 'late'}"


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        length = self.headers.get("content-length", "")
        if not length.isdecimal() or int(length) > BODY_BYTES:
            self.send_response(413)
            return self.end_headers()
        body = self.rfile.read(int(length))
        is_good = is_genuine(self.headers, body)
        if is_good:
            print(take(json.loads(body)), flush=True)
        self.send_response(204 if is_good else 401)  # 2xx only when it is safe in your database.
        self.end_headers()


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Receiver).serve_forever()
