"""What the apps of a stack have at the stack's App Store simulator: a key of the App Store Server API, and what else App
Store Connect would know about them (`app-store-connect.json` of the configuration)."""

import json
import pathlib
import subprocess
import urllib.error
import urllib.request

from addresses import LOOPBACKS, authority

APPLE_ROOT = "b0b1730ecbc7ff4505142c49f1295e6eda6bcaed7e2c68c5be91b5a11001f024"  # Receipts; signed payloads have G3.
KEY_FILE, PUBLIC_KEY_FILE = "app-store-key.p8", "app-store-key.pub.pem"
ANSWER_SECONDS = 10
REPLY_CHARACTERS = 500


class RegistrationError(Exception):
    """What the simulator has against an app."""


def make_key_pair():
    """A P-256 key as App Store Connect gives it out (PKCS#8 in PEM), and its public half."""
    private = subprocess.run(["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"],
                             check=True, capture_output=True, text=True).stdout
    public = subprocess.run(["openssl", "pkey", "-pubout"], input=private, check=True, capture_output=True,
                            text=True).stdout
    return private, public


def hosts(ports, address=LOOPBACKS[0]):
    """The settings by which a worker asks the simulator where it would ask Apple."""
    control, production, sandbox = (
        f"http://{authority(address, ports[f'SIMULATOR_{name}PORT'])}" for name in ("", "PRODUCTION_", "SANDBOX_"))
    return {
        "APP_STORE_PRODUCTION_URL": production, "APP_STORE_SANDBOX_URL": sandbox,
        "VERIFY_RECEIPT_PRODUCTION_URL": production, "VERIFY_RECEIPT_SANDBOX_URL": sandbox,
        # Asked only where COUNTERSIGN_OCSP is on.
        "OCSP_RESPONDER_URL": f"{control}/simulator/ocsp"}


def register(config, port, issuer_id, key_id, address=LOOPBACKS[0]):
    """Tells the simulator of the apps that it does not know with this key yet; its journal keeps them.

    An app that is known is left alone: somebody may have changed it since. Without a file there are no apps.
    """
    file = pathlib.Path(config) / "app-store-connect.json"
    if not file.exists():
        return
    public_key = (pathlib.Path(config) / PUBLIC_KEY_FILE).read_text()
    simulator = authority(address, port)
    for bundle_id, app in json.loads(file.read_text()).items():
        known = call(simulator, "GET", bundle_id)
        if known is None or key_id not in known["keyIds"]:
            call(simulator, "PUT", bundle_id, {"issuerId": issuer_id, "publicKeys": {key_id: public_key}, **app})


def call(simulator, method, bundle_id, body=None):
    """The simulator's answer about an app; nothing when it knows none."""
    request = urllib.request.Request(
        f"http://{simulator}/simulator/v1/apps/{bundle_id}", method=method,
        data=None if body is None else json.dumps(body).encode(), headers={"content-type": "application/json"})
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=ANSWER_SECONDS) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        if error.code == 404 and method == "GET":
            return None
        reply = error.read(REPLY_CHARACTERS).decode(errors="replace")
        raise RegistrationError(f"{bundle_id} was not registered: {error.code} {reply}") from error
    except OSError as error:
        raise RegistrationError(f"{bundle_id} was not registered: {error}") from error
