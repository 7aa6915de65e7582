"""A backend on a real socket: takes what the simulator sends, and answers real-time requests."""

import http.server
import json
import queue
import threading


class Receiver:
    """Keeps the bodies that arrive, by path; answers 200 with `answer`, or nothing."""

    def __init__(self, answer=None):
        self.bodies = queue.Queue()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            """One request."""

            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                outer.bodies.put((self.path, json.loads(body)))
                answer = json.dumps(outer.answer).encode() if outer.answer is not None else b""
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *arguments):
                pass

        self.answer = answer
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def next(self, seconds=30):
        """The path and the body of the next request; raises queue.Empty when none comes."""
        return self.bodies.get(timeout=seconds)

    def clear(self):
        """Forgets what has arrived."""
        while not self.bodies.empty():
            self.bodies.get_nowait()

    def close(self):
        self.server.shutdown()
        self.server.server_close()
