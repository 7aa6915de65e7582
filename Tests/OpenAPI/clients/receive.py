"""Receives the webhooks of a stack: the body of each `iap.transaction.fulfilled` becomes `FOLDER/TRANSACTION_ID.json`."""
import http.server
import json
import os
import pathlib
import sys

folder, port = pathlib.Path(sys.argv[1]), int(sys.argv[2])


class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        event = json.loads(body)
        if event["type"] == "iap.transaction.fulfilled":
            part = folder / "part"
            part.write_bytes(body)
            os.replace(part, folder / f"{event['data']['transaction']['transaction_id']}.json")
        self.send_response(204)
        self.end_headers()

    def log_message(self, format, *arguments):
        pass


http.server.HTTPServer(("127.0.0.1", port), Receiver).serve_forever()
