"""An SMTP server (aiosmtpd) that keeps each mail as a file, and behaves as badly as a test wants.

It says "ready PORT" once it listens, and ends when its standard input does.
"""

import argparse
import asyncio
import itertools
import json
import os
import ssl
import sys

from aiosmtpd.smtp import SMTP, AuthResult

parser = argparse.ArgumentParser()
parser.add_argument("--port", type=int, default=0)
parser.add_argument("--folder", help="where mails are kept; without it they are counted alone")
parser.add_argument("--user")
parser.add_argument("--password")
parser.add_argument("--cert")
parser.add_argument("--key")
parser.add_argument("--implicit", action="store_true", help="TLS from the first byte")
parser.add_argument("--refuse", default="", help="a recipient that is refused for good")
parser.add_argument("--put-off", default="", help="a recipient that is refused once for now")
parser.add_argument("--stall", default="", help="a recipient that gets no answer")
parser.add_argument("--delay", type=float, default=0, help="seconds that each mail takes")
arguments = parser.parse_args()

numbers = itertools.count()
put_off = set()
open_connections = 0
most_connections = 0


class Server(SMTP):
    def connection_made(self, transport):
        global open_connections, most_connections
        # With STARTTLS this is called once more for the same connection.
        if not getattr(self, "counted", False):
            self.counted = True
            open_connections += 1
            most_connections = max(most_connections, open_connections)
        super().connection_made(transport)

    def connection_lost(self, error):
        global open_connections
        open_connections -= 1
        super().connection_lost(error)


class Handler:
    async def handle_RCPT(self, server, session, envelope, address, options):
        if address == arguments.refuse:
            return "550 5.1.1 there is no such mailbox"
        if address == arguments.put_off and address not in put_off:
            put_off.add(address)
            return "451 4.7.1 try again later"
        if address == arguments.stall:
            await asyncio.sleep(3600)
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        await asyncio.sleep(arguments.delay)
        number = next(numbers)
        if arguments.folder:
            kept = {
                "from": envelope.mail_from,
                "to": envelope.rcpt_tos,
                "tls": session.ssl is not None or arguments.implicit,
                "user": session.auth_data,
                "connections": most_connections,
                "content": envelope.content.decode("utf-8"),
            }
            path = os.path.join(arguments.folder, f"{number}.json")
            with open(path + ".part", "w", encoding="utf-8") as file:
                json.dump(kept, file)
            os.rename(path + ".part", path)
        return "250 2.0.0 taken"


def authenticate(server, session, envelope, mechanism, data):
    given = (data.login.decode(), data.password.decode())
    if given != (arguments.user, arguments.password):
        return AuthResult(success=False, handled=False)
    return AuthResult(success=True, auth_data=arguments.user)


def protocol(tls):
    options = {"hostname": "localhost", "enable_SMTPUTF8": True}
    if tls is not None and not arguments.implicit:
        options["tls_context"] = tls
    if arguments.user:
        # That a password needs TLS is for the client to know.
        options |= {
            "authenticator": authenticate,
            "auth_required": True,
            "auth_require_tls": False,
        }
    return Server(Handler(), **options)


async def main():
    loop = asyncio.get_running_loop()
    tls = None
    if arguments.cert:
        tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        tls.load_cert_chain(arguments.cert, arguments.key)
    server = await loop.create_server(
        lambda: protocol(tls),
        "127.0.0.1",
        arguments.port,
        ssl=tls if arguments.implicit else None,
    )
    print("ready", server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    os._exit(0)


asyncio.run(main())
