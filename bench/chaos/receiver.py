"""Where webhooks and logout tokens arrive."""

import base64
import hashlib
import hmac
import http.server
import json
import threading
import urllib.parse

from wire import claims


class Receiver:
    """Answers 204 to everything, and notes each message in the history."""

    def __init__(self, history):
        self.history = history
        self.secret = None
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("content-length", "0")))
                if self.path.startswith("/hook"):
                    receiver.webhook(self.headers, body)
                else:
                    receiver.logout(body)
                self.send_response(204)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, name="receiver", daemon=True).start()

    def webhook(self, headers, body):
        said = json.loads(body)
        data = said.get("data") or {}
        self.history.fact(
            "delivered", kind="webhook", event=said.get("type"), id=(data.get("subject") or {}).get("id"),
            record=data.get("id"), signed=self.secret is not None and is_signed(self.secret, headers, body),
        )

    def logout(self, body):
        token = urllib.parse.parse_qs(body.decode())["logout_token"][0]
        self.history.fact("delivered", kind="logout", id=claims(token).get("sid"))

    def close(self):
        self.server.shutdown()


def is_signed(secret, headers, body):
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    wanted = "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    return any(hmac.compare_digest(wanted, one) for one in (headers["webhook-signature"] or "").split(" "))
