"""Has the official package judge deliveries: a JSON object a line on standard input, with `secret`, `headers` and `body` (the
bytes in base64); on standard output a line for each, `good` or why not.
"""
import base64
import json
import sys

from standardwebhooks import Webhook

for line in sys.stdin:
    delivery = json.loads(line)
    body = base64.b64decode(delivery["body"])
    try:
        event = Webhook(delivery["secret"]).verify(body, delivery["headers"])
        print("good" if event == json.loads(body) else "another event", flush=True)
    except Exception as error:  # The package has more than one kind.
        print(f"{type(error).__name__}: {error}", flush=True)
