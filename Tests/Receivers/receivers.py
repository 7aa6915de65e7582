"""Starts each receiver of Services/Notification/Receivers and compares what it does with deliveries of every kind."""
import base64
import datetime
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

from standardwebhooks import Webhook

ROOT = pathlib.Path(sys.argv[1])
FOLDER = ROOT / "Services/Notification/Receivers"
START_SECONDS = 60.0
SECRET, OLD_SECRET, STRANGER = ("whsec_" + base64.b64encode(os.urandom(32)).decode() for _ in range(3))


def commands(scratch):
    """What starts each, as far as its language is here; says loudly what is not."""
    found = {"python": [sys.executable, str(FOLDER / "receiver.py")]}
    if shutil.which("go"):
        program = str(scratch / "receiver")
        subprocess.run(["go", "build", "-o", program, str(FOLDER / "receiver.go")], check=True,
                       env={**os.environ, "GOCACHE": str(scratch / "go"), "GO111MODULE": "off"})
        found["go"] = [program]
    swift = pathlib.Path(os.environ.get("COUNTERSIGN_BIN_DIR", "")) / "webhook-receiver-example"
    if swift.is_file():
        found["swift"] = [str(swift)]
    for name in ("go", "swift"):
        if name not in found:
            print(f"receivers: NOT TRIED: {name} ({'no go' if name == 'go' else 'COUNTERSIGN_BIN_DIR has none'})")
    return found


def delivery(number, sequence, *, secret=SECRET, age=0.0, change=b""):
    """A body and its headers, signed by the official package."""
    event = {"id": f"evt_{number:032x}", "type": "iap.transaction.fulfilled", "app": "com.example.game",
             "environment": "production", "customer": {"id": "игрок-1", "sequence": sequence}, "tomorrow": [1],
             "data": {"entries": [{"item": "gem", "amount": 100}], "entitlements": []}}
    body = json.dumps(event, ensure_ascii=False, separators=(",", ":"))
    at = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(seconds=age)
    signature = Webhook(secret).sign(event["id"], at, body)
    return body.encode() + change, {
        "webhook-id": event["id"], "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": f"v1a,AAAA {signature}", "content-type": "application/json"}


def post(port, body, headers):
    request = urllib.request.Request(f"http://127.0.0.1:{port}/", data=body, headers=headers, method="POST")
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


def post_of_length(port, length):
    """What is answered to a head that promises so much, and brings nothing."""
    with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
        connection.sendall(f"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: {length}\r\n\r\n".encode())
        try:
            answer = connection.recv(64)
        except TimeoutError:
            return "no answer, it waits for the rest"
    return int(answer.split()[1]) if answer else "closed"


def wait_for(port):
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise SystemExit("receivers: it does not listen")


def try_one(name, command, scratch):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = scratch / f"{name}.log"
    with open(log, "wb") as output:
        process = subprocess.Popen([*command, str(port)], stdout=output, stderr=subprocess.STDOUT,
                                   env={**os.environ, "COUNTERSIGN_WEBHOOK_SECRET": f"{SECRET} {OLD_SECRET}"})
    try:
        wait_for(port)
        given = [
            ("a good one", delivery(1, 2), 204), ("the same again", delivery(1, 2), 204),
            ("one that comes late", delivery(2, 1), 204), ("by the older secret", delivery(3, 3, secret=OLD_SECRET), 204),
            ("by a stranger", delivery(4, 4, secret=STRANGER), 401), ("of ten minutes ago", delivery(5, 5, age=600), 401),
            ("of ten minutes ahead", delivery(6, 6, age=-600), 401), ("a changed body", delivery(7, 7, change=b" "), 401),
        ]
        wrong = [f"{what}: {status}, not {expected}" for what, (body, headers), expected in given
                 if (status := post(port, body, headers)) != expected]
        body, headers = delivery(8, 8)
        for header in ("webhook-id", "webhook-timestamp", "webhook-signature"):
            less = {key: value for key, value in headers.items() if key != header}
            if (status := post(port, body, less)) != 401:
                wrong.append(f"without {header}: {status}")
        # A receiver that took it for a length would read until the connection ends.
        if (status := post_of_length(port, "-1")) not in (400, 401, 413):
            wrong.append(f"content-length -1: {status}")
    finally:
        process.terminate()
        process.wait(timeout=10)
    did = [line for line in log.read_text().splitlines() if line.startswith("iap.") or line == "seen before"]
    outcome = ["seen before" if line == "seen before" else line.rsplit(" ", 1)[-1] for line in did]
    if outcome != ["newest", "seen before", "late", "newest"]:
        wrong.append(f"it did {did}")
    print(f"receivers: {name}: {'; '.join(wrong) or 'all 12 deliveries as they should be'}", flush=True)
    if wrong:
        print(log.read_text()[-2000:])
    return not wrong


with tempfile.TemporaryDirectory(prefix="receivers.") as folder:
    scratch = pathlib.Path(folder)
    wanted = sys.argv[2:]
    programs = {name: command for name, command in commands(scratch).items() if not wanted or name in wanted}
    results = [try_one(name, command, scratch) for name, command in programs.items()]
    print(f"{sum(results)} passed, {len(results) - sum(results)} failed")
    sys.exit(0 if results and all(results) else 1)
