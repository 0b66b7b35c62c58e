"""What must not be in a history. Each rule returns the violations that it finds."""

import math

from index import CLOCK_SECONDS, VIEW_SECONDS, Violation
from scene import ROLES

RULES = []

# Refusals of a grant that say that it is not there, or not yet.
GONE = ("invalid_grant", "expired_token", "access_denied", "authorization_pending", "slow_down", "invalid_request_uri")


def rule(function):
    RULES.append(function)
    return function


@rule
def accepted_twice(index):
    """A code, a token, a pushed request, a name or a version is accepted once."""
    for thing, attempts in index.attempts.items():
        good = [one for one in attempts if one.succeeded]
        if len(good) > 1:
            yield Violation("accepted_twice", f"{thing} was accepted {len(good)} times",
                            [one.answer for one in good])


@rule
def revoked_alive(index):
    """What was ended is not active for a request that began after the answer."""
    for use in index.operations:
        if use.do != "use" or not use.get("active"):
            continue
        since, by = index.over_since(use.get("thing"))
        if use.began > since:
            yield Violation("revoked_alive", f"{use.get('thing')} is active by {use.get('how')} after its end",
                            [by.answer, use.number])


@rule
def issued_after_end(index):
    """Nothing is issued on what was ended before the request began."""
    for thing, issue in index.issues.items():
        for rest in issue.rests:
            if rest == thing or issue.by.do not in ("spend", "exchange", "authorize"):
                continue
            since, by = index.over_since(rest)
            if issue.by.began > since:
                yield Violation("issued_after_end", f"{thing} was issued on {rest} after its end",
                                [by.answer, issue.by.answer])
                break


@rule
def acknowledged_lost(index):
    """What was issued is there, until it expires or something ends it."""
    for operation in index.operations:
        thing = operation.get("thing")
        if operation.get("found") is False:
            yield Violation("acknowledged_lost", f"{operation.get('expects')} is not there", [operation.number])
        if thing not in index.issues or index.issues[thing].by.ended > operation.began:
            continue
        if operation.do == "use" and operation.get("active") is False:
            lost = "is not active"
        elif operation.do in ("spend", "authorize") and is_gone(index, operation):
            # That it still waits may be told from memory for a second.
            waits = operation.get("error") in ("authorization_pending", "slow_down")
            if waits and operation.began <= index.issues[thing].by.ended + VIEW_SECONDS:
                continue
            lost = f"was refused ({operation.get('error')})"
        else:
            continue
        if index.excuse(thing, operation.ended) is None:
            yield Violation("acknowledged_lost", f"{thing} {lost}, and nothing has ended it",
                            [index.issues[thing].by.answer, operation.number])


def is_gone(index, operation):
    """Whether a grant was refused at its first presentation; what was answered busy has spent nothing."""
    if operation.outcome != "refused" or operation.get("error") not in GONE:
        return False
    others = [one for one in index.attempts[operation.get("thing")] if one is not operation]
    return not any(one.outcome in ("ok", "unknown") and one.began < operation.ended for one in others)


@rule
def write_lost(index):
    """A read shows what was written last, on whichever node."""
    for read in index.operations:
        if read.do != "read" or "value" not in read.said:
            continue
        possible = index.possible(read.get("key"), read.began, read.ended)
        if possible is not None and read.get("value") not in possible:
            yield Violation("write_lost", f"{read.get('key')} is {read.get('value')!r} and not one of {possible!r}",
                            [read.number])


@rule
def widened_authority(index):
    """No token has more than was asked, than its subject token has, or than its person holds."""
    for operation in index.operations:
        if operation.do == "spend" and operation.get("denied") and operation.succeeded:
            yield Violation("widened_authority", f"{operation.get('thing')} was denied and gave tokens",
                            [operation.answer])
        if operation.outcome != "ok":
            continue
        for said in operation.get("issued", []):
            if said["type"] == "access":
                yield from wider(index, operation, said)
        if operation.do == "use" and operation.get("active") and "scope" in operation.said:
            issue = index.issues.get(operation.get("thing"))
            if issue is None:
                continue
            scope = set(operation.get("scope"))
            if "scope" in issue.said and (more := scope - set(issue.said["scope"])):
                yield Violation("widened_authority", f"{operation.get('thing')} has gained {sorted(more)}",
                                [issue.by.answer, operation.number])
            yield from beyond_roles(index, operation, scope, issue.may, operation.began)


def wider(index, operation, said):
    scope = set(said.get("scope", []))
    for name in ("asked", "ceiling"):
        if operation.get(name) is not None and (more := scope - set(operation.get(name))):
            yield Violation("widened_authority", f"{said['thing']} has {sorted(more)} beyond what was {name}",
                            [operation.answer])
    if said.get("org") not in (None, "acme"):
        yield Violation("widened_authority", f"{said['thing']} speaks for {said['org']}", [operation.answer])
    if said.get("client") not in (None, operation.get("client")):
        yield Violation("widened_authority", f"{said['thing']} is for another client", [operation.answer])
    yield from beyond_roles(index, operation, scope, said.get("may") or [], operation.began - VIEW_SECONDS)


def beyond_roles(index, operation, scope, may, since):
    """The scopes of the API that no roles confer which the person may have had in this time."""
    for key in may:
        if not key.startswith("roles:"):
            continue
        held = index.possible(key, since, operation.ended)
        if held is None:
            continue
        conferred = {permission for roles in held for role in roles for permission in ROLES.get(role, [])}
        more = {one for one in scope if one.startswith("invoices:")} - conferred
        if more:
            yield Violation("widened_authority", f"{sorted(more)} beyond {key}, which is one of {held!r}",
                            [operation.number])


@rule
def server_error(index):
    """A 500 is an outcome that is not known, near a fault, and says so."""
    for operation in index.operations:
        status = operation.get("status", 0)
        if status < 500 or status == 503:
            continue
        if status != 500 or not operation.get("says_unknown") or not index.near_fault(operation):
            yield Violation("server_error", f"{operation.do} was answered {status}: {operation.get('text')}",
                            [operation.number])


@rule
def turned_away(index):
    """While nodes are replaced one by one, a request is lost only where nobody listens: before it is sent."""
    away = index.replacements()
    if not away:
        return
    for operation in index.operations:
        if operation.outcome in ("ok", "refused"):
            continue
        # A limit that says no has nothing to do with a replacement.
        if operation.outcome == "busy" and operation.get("status") == 429:
            continue
        is_away = any(node == operation.get("node") and began <= operation.ended and operation.began <= ended
                      for node, began, ended in away)
        if operation.outcome != "unsent" or not is_away:
            where = "which was being replaced" if is_away else "which was not being replaced"
            yield Violation("turned_away", f"{operation.do} was {operation.outcome} at node {operation.get('node')}, "
                            f"{where}", [operation.number])


@rule
def log_broken(index):
    """The chain of the security log is whole."""
    for fact in index.facts.get("log_verified", []):
        if fact["code"] != 0:
            yield Violation("log_broken", f"porteiro log verify ended with {fact['code']}: {fact['said']}", [fact["n"]])


@rule
def record_lost(index):
    """What was acknowledged is in the security log."""
    for fact in index.facts.get("records", []):
        there = {tuple(one) for one in fact["records"]}
        for operation in index.operations:
            for record in operation.get("records", []) if operation.outcome == "ok" else []:
                if tuple(record) not in there:
                    yield Violation("record_lost", f"no {record[0]} of {record[1]} is in the log", [operation.answer])


@rule
def never_delivered(index):
    """What was promised with an acknowledged commit arrives at least once."""
    if "finished" not in index.facts:
        return
    delivered = {(one["kind"], one.get("event"), one["id"]) for one in index.facts.get("delivered", [])}
    since = min((one["at"] for one in index.facts.get("endpoint", [])), default=math.inf)
    mails = [name for fact in index.facts.get("mails", []) for name in fact["to"]]
    promised = {}
    for operation in index.operations:
        if operation.outcome != "ok":
            continue
        for event, thing in operation.get("records", []):
            # By the clock of a node that lags it may have been before the endpoint was enabled.
            lag = CLOCK_SECONDS if index.had_old_clock(operation) else 0.0
            if operation.began > since + lag and ("webhook", event, thing) not in delivered:
                yield Violation("never_delivered", f"no webhook told of {event} of {thing}", [operation.answer])
        for kind, thing in operation.get("promises", []):
            if kind == "mail":
                promised.setdefault(thing, []).append(operation.answer)
            elif (kind, None, thing) not in delivered:
                yield Violation("never_delivered", f"no {kind} of {thing} arrived", [operation.answer])
    for address, lines in promised.items():
        count = sum(1 for name in mails if address in name)
        if count < len(lines):
            yield Violation("never_delivered", f"{count} of {len(lines)} mails to {address} arrived", lines)


@rule
def message_without_commit(index):
    """A message tells of what is in the log, and is signed."""
    logged = {one for fact in index.facts.get("records", []) for one in fact.get("ids", [])}
    for one in index.facts.get("delivered", []):
        if one["kind"] != "webhook":
            continue
        if not one.get("signed"):
            yield Violation("message_without_commit", f"{one['event']} of {one['id']} is not signed", [one["n"]])
        elif logged and one.get("record") not in logged:
            yield Violation("message_without_commit", f"{one['event']} of {one['id']} is not in the log", [one["n"]])


@rule
def node_failed(index):
    """No node panics or ends by itself once it serves, and all serve again when nothing is wrong any more."""
    for fact in index.facts.get("node_ended", []):
        if fact["served"]:
            yield Violation("node_failed", f"node {fact['node']} has ended by itself with {fact['code']}", [fact["n"]])
    for fact in index.facts.get("panic", []):
        yield Violation("node_failed", f"node {fact['node']} panicked: {fact['text']}", [fact["n"]])
    for fact in index.facts.get("not_back", []):
        yield Violation("node_failed", f"{fact['who']} does not go on though nothing is wrong any more", [fact["n"]])


@rule
def incomplete(index):
    """A history without its end proves nothing of the log and of deliveries."""
    for name in ("finished", "log_verified", "records", "mails"):
        if name not in index.facts:
            yield Violation("incomplete", f"the history does not say `{name}`", [])
