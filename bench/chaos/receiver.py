"""Where webhooks and logout tokens arrive, and are refused now and then."""

import base64
import hashlib
import hmac
import http.server
import json
import threading
import time
import urllib.parse

from wire import claims


class Receiver:
    """Answers late now and then, 503 sometimes and else 204; notes each message that it has taken."""

    def __init__(self, history, dice, is_calm):
        self.history = history
        self.dice = dice
        self.is_calm = is_calm
        self.secret = None
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("content-length", "0")))
                status = receiver.manner()
                if status != 204:
                    pass
                elif self.path.startswith("/hook"):
                    receiver.webhook(self.headers, body)
                else:
                    receiver.logout(body)
                self.send_response(status)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, name="receiver", daemon=True).start()

    def manner(self):
        """How one message is answered."""
        if self.is_calm.is_set():
            return 204
        time.sleep(self.dice.uniform(0.0, 0.4))
        return 503 if self.dice.random() < 0.05 else 204

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
