"""HTTP as the example needs it, with what Python has."""

import json
import urllib.error
import urllib.parse
import urllib.request


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    def json(self):
        return json.loads(self.body or b"{}")


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


_opener = urllib.request.build_opener(_NoRedirect, urllib.request.ProxyHandler({}))


def call(method, url, *, form=None, document=None, headers=()):
    """Sends a request and returns the answer, whatever its status."""
    headers, data = dict(headers), None
    headers.setdefault("Accept", "application/json")
    if form is not None:
        data = urllib.parse.urlencode(form).encode()
    if document is not None:
        data = json.dumps(document).encode()
        headers["Content-Type"] = "application/json"
    request = urllib.request.Request(url, data=data, headers=headers, method=method)
    try:
        with _opener.open(request, timeout=30) as response:
            return Answer(response.status, response.headers, response.read())
    except urllib.error.HTTPError as error:
        with error:
            return Answer(error.code, error.headers, error.read())
