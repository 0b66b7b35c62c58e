"""A TCP proxy with faults: one link stands between a node and the database, or between clients and a node.

pass       what comes goes on
reset      open connections are reset, and so is each new one
delay      each piece waits for so long, and goes on in order
half-open  what comes is dropped in both directions while the connections stay open; they are reset later
mute       requests go on and their answers are dropped; the connections stay open and are reset later
"""

import asyncio
import socket
import struct
import threading

MODES = ("pass", "reset", "delay", "half-open", "mute")

# A connection that has lost bytes carries nothing more; it is reset so long after the fault.
HALF_OPEN_SECONDS = 6.0


class Link:
    """One listening address and where it leads."""

    def __init__(self, name, listen, to):
        self.name = name
        self.listen = listen
        self.to = to
        self.mode = "pass"
        self.delay = 0.0
        self.carried = set()


class Carried:
    """One connection: two pipes."""

    def __init__(self, link, near, far):
        self.link = link
        self.writers = (near, far)
        self.is_broken = False

    def reset(self):
        for writer in self.writers:
            abort(writer)


def abort(writer):
    """Closes a connection by a reset, so that the other side hears of it."""
    held = writer.get_extra_info("socket")
    if held is not None:
        try:
            held.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        except OSError:
            pass
    writer.transport.abort()


class Proxy:
    """All links, on one thread."""

    def __init__(self):
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self._run, name="proxy", daemon=True)
        self.thread.start()

    def _run(self):
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()

    def _call(self, work):
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(10)

    def open(self, name, to, host="127.0.0.1"):
        """Begins to listen, and returns the link."""
        link = Link(name, None, to)
        self._call(self._listen(link, host))
        return link

    async def _listen(self, link, host):
        async def serve(reader, writer):
            await self._carry(link, reader, writer)

        server = await asyncio.start_server(serve, host, 0)
        link.server = server
        link.listen = server.sockets[0].getsockname()[:2]

    def turn(self, link, mode, delay=0.0):
        assert mode in MODES, mode
        self._call(self._turn(link, mode, delay))

    async def _turn(self, link, mode, delay):
        former, link.mode, link.delay = link.mode, mode, delay
        if mode == "reset":
            for carried in list(link.carried):
                carried.reset()
        if former in ("half-open", "mute") and mode == "pass":
            broken = [carried for carried in link.carried if carried.is_broken]
            self.loop.call_later(HALF_OPEN_SECONDS, lambda: [one.reset() for one in broken])

    async def _carry(self, link, reader, writer):
        if link.mode == "reset":
            abort(writer)
            return
        try:
            far_reader, far_writer = await asyncio.open_connection(*link.to)
        except OSError:
            abort(writer)
            return
        carried = Carried(link, writer, far_writer)
        link.carried.add(carried)
        try:
            there = asyncio.ensure_future(self._pipe(carried, reader, far_writer, is_answer=False))
            back = asyncio.ensure_future(self._pipe(carried, far_reader, writer, is_answer=True))
            await asyncio.gather(there, back)
        except (OSError, asyncio.CancelledError):
            carried.reset()
        finally:
            link.carried.discard(carried)
            for one in carried.writers:
                one.close()

    async def _pipe(self, carried, reader, writer, is_answer):
        link = carried.link
        while True:
            data = await reader.read(65536)
            if link.mode == "half-open" or (link.mode == "mute" and is_answer):
                carried.is_broken = True
            if carried.is_broken and (is_answer or link.mode != "mute"):
                if not data:
                    # The other side is not told: this is what half-open means.
                    return
                continue
            if not data:
                if writer.can_write_eof():
                    writer.write_eof()
                return
            if link.mode == "delay":
                await asyncio.sleep(link.delay)
            writer.write(data)
            await writer.drain()

    async def _end(self):
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    def close(self):
        self._call(self._end())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(5)
