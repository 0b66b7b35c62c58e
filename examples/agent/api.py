"""A small protected API: it asks the authorization server about every token, and believes nothing else.

    python3 api.py ISSUER
"""

import base64
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from web import call

ADDRESS = ("127.0.0.1", 8090)
RESOURCE = "http://127.0.0.1:8090/payments"
ISSUER = sys.argv[1].rstrip("/")
SECRET = base64.b64encode(b"payments-api:the+API+asks+about+tokens+with+this+secret").decode()
METADATA = f"{ISSUER}/.well-known/oauth-protected-resource/resources/127.0.0.1:8090/payments"
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
        wanted = json.loads(self.rfile.read(min(length, 10_000)))
        token = self.token()
        if not token:
            return self.refuse(401)
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
    print(f"the payments API listens on {RESOURCE}", flush=True)
    ThreadingHTTPServer(ADDRESS, Api).serve_forever()
