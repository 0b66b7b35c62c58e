"""A small protected API: it asks the authorization server about every token, and believes nothing else.

    python3 api.py ISSUER [PORT]
"""

import base64
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from web import call

ISSUER = sys.argv[1].rstrip("/")
ADDRESS = ("127.0.0.1", int(sys.argv[2]) if len(sys.argv) > 2 else 8090)
HOST = f"{ADDRESS[0]}:{ADDRESS[1]}"
RESOURCE = f"http://{HOST}/payments"
SECRET = base64.b64encode(b"payments-api:the+API+asks+about+tokens+with+this+secret").decode()
METADATA = f"{ISSUER}/.well-known/oauth-protected-resource/resources/{HOST}/payments"
payments = []


class Api(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        token = self.token()
        if not token:
            return self.refuse(401)
        if "payments:read" not in token["scope"].split():
            return self.refuse(403, 'error="insufficient_scope", scope="payments:read"')
        self.answer(200, {"payments": payments})

    def do_POST(self):
        length = int(self.headers.get("Content-Length", 0))
        body = self.rfile.read(min(length, 10_000))
        token = self.token()
        if not token:
            return self.refuse(401)
        try:
            wanted = dict(json.loads(body))
        except (TypeError, ValueError):
            return self.answer(400, {"error": "a payment is a JSON object"})
        # Exactly what the person approved, and nothing near it.
        detail = {"type": "payment_initiation", **wanted}
        if detail not in token.get("authorization_details", []):
            return self.refuse(403, 'error="insufficient_authorization_details"')
        paid = {**wanted, "for": token["sub"], "by": token["client_id"]}
        payments.append(paid)
        self.answer(201, paid)

    def token(self):
        """What the server says of the token, if it is good here."""
        bearer = self.headers.get("Authorization", "").removeprefix("Bearer ")
        if not bearer:
            return None
        headers = {"Authorization": f"Basic {SECRET}"}
        seen = call("POST", f"{ISSUER}/connect/introspect", form={"token": bearer}, headers=headers)
        token = seen.json()
        return token if token.get("active") and token.get("aud") == RESOURCE else None

    def refuse(self, status, more=""):
        challenge = f'Bearer resource_metadata="{METADATA}"' + (f", {more}" if more else "")
        self.answer(status, {"error": "not allowed"}, {"WWW-Authenticate": challenge})

    def answer(self, status, document, headers=()):
        body = json.dumps(document).encode()
        self.send_response(status)
        for name, value in dict(headers).items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


if __name__ == "__main__":
    server = ThreadingHTTPServer(ADDRESS, Api)
    print(f"the payments API listens on {RESOURCE}", flush=True)
    server.serve_forever()
