"""Asks the App Store simulator: its control API by Python, Apple's hosts by wrk with a token as Apple wants it."""

import base64
import json
import re
import subprocess
import threading
import time
import urllib.request

OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def control(url, method, path, body=None):
    """Calls the control API; the JSON that it answers."""
    request = urllib.request.Request(
        f"{url}/simulator/v1/{path}", method=method, data=None if body is None else json.dumps(body).encode(),
        headers={"content-type": "application/json"})
    with OPENER.open(request, timeout=60) as answer:
        return json.loads(answer.read())


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=")


def token(pem, key_id, issuer, app):
    """A JWT of an app (ES256), signed by openssl with the key in a file."""
    now = int(time.time())
    header = {"alg": "ES256", "kid": key_id, "typ": "JWT"}
    claims = {"iss": issuer, "iat": now, "exp": now + 1800, "aud": "appstoreconnect-v1", "bid": app}
    text = b".".join(base64url(json.dumps(part).encode()) for part in (header, claims))
    der = subprocess.run(["openssl", "dgst", "-sha256", "-sign", str(pem)], input=text, check=True,
                         capture_output=True).stdout
    raw, position = b"", 2
    for _ in range(2):  # Two INTEGERs of a SEQUENCE.
        length = der[position + 1]
        raw += der[position + 2:position + 2 + length].lstrip(b"\0").rjust(32, b"\0")
        position += 2 + length
    return (text + b"." + base64url(raw)).decode()


def wrk(folder, url, script, connections, seconds, may_time_out=False):
    """Requests in a second, with one thread; fails when an answer was not good."""
    lua = folder / f"wrk-{threading.get_ident()}.lua"
    lua.write_text(script)
    output = subprocess.run(["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "-s", str(lua), url], check=True,
                            capture_output=True, text=True).stdout
    errors = r"Socket errors: (?!connect 0, read 0, write 0)" if may_time_out else "Socket errors"
    if "Non-2xx" in output or re.search(errors, output):
        raise SystemExit(f"{url}: not every answer was good:\n{output}")
    return float(re.search(r"Requests/sec:\s+([\d.]+)", output)[1])
