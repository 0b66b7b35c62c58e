"""Small histories: good ones, and one for each thing that must not be."""

from sample import FAMILY, SCOPE, SESSION, Sample

GOOD, BAD = {}, {}


def sample(violation=None):
    """Makes a history of what a function writes, with a good end unless it writes one."""

    def keep(function):
        def lines():
            made = Sample()
            function(made)
            if violation != "incomplete" and not any(line.get("fact") == "finished" for line in made.lines):
                made.finish()
            return made.lines

        if violation is None:
            GOOD[function.__name__] = lines
        else:
            BAD[function.__name__] = (violation, lines)
        return function

    return keep


def begun(made):
    made.sign_in()
    made.code()
    made.redeem()


@sample()
def a_code_and_its_tokens(made):
    begun(made)
    made.use()
    made.refresh(1)
    made.refresh(1, "refused")
    made.use("access:2", False)
    made.end(SESSION)
    made.use(SESSION, False)


@sample()
def what_is_unknown_may_be_either(made):
    made.sign_in()
    made.code()
    made.redeem("unknown")
    made.redeem("refused")
    made.write("a")
    made.write("b", "unknown")
    made.read("a")
    made.read("b")
    made.fault("kill-postgres")
    made.do("spend", "unknown", {"status": 500, "says_unknown": True}, thing="refresh:9", family="family:9")


@sample()
def an_end_under_way_may_be_seen(made):
    begun(made)
    ending = made.ask("end", ends=[FAMILY])
    made.use("access:1", False)
    made.use("access:1", True)
    made.answer(ending)
    made.use("access:1", False)


@sample()
def an_account_that_was_ended_goes_on(made):
    begun(made)
    made.end("account:ana")
    made.use("access:1", False)
    made.do("sign_in", answer={"issued": [
        {"thing": "session:t", "type": "session", "rests": ["session:t", "account:ana"]}]})
    made.use("session:t")


@sample()
def what_was_busy_is_asked_again(made):
    made.sign_in()
    made.code()
    made.redeem("busy")
    made.redeem()
    made.wait(301)
    made.use("access:1", False)


@sample()
def an_endpoint_that_is_younger_than_a_clock_is_behind(made):
    made.fact("endpoint")
    making = made.ask("make_key")
    made.fault("clock-back")
    made.answer(making, records=[["apikey.created", "k"]])
    made.finish(records=[("apikey.created", "k")])


@sample()
def a_write_that_took_no_time(made):
    made.at -= 1.0
    number = made.ask("write", key="user:u", value="a")
    made.at -= 1.0
    made.answer(number)
    made.read("a")


@sample("accepted_twice")
def a_code_twice(made):
    begun(made)
    made.redeem(number=5)


@sample("accepted_twice")
def a_refresh_token_twice(made):
    begun(made)
    made.refresh(1)
    made.do("spend", answer=made.tokens(7), thing="refresh:1", family=FAMILY, client="web", asked=SCOPE)


@sample("accepted_twice")
def a_version_twice(made):
    made.write("a", thing="version:1")
    made.write("b", thing="version:1")


@sample("revoked_alive")
def a_revoked_token(made):
    begun(made)
    made.end(FAMILY)
    made.use()


@sample("revoked_alive")
def a_token_of_an_ended_session(made):
    begun(made)
    made.end(SESSION)
    made.use()


@sample("revoked_alive")
def a_token_of_an_ended_account(made):
    begun(made)
    made.end("account:ana")
    made.use()


@sample("revoked_alive")
def a_family_whose_token_came_twice(made):
    begun(made)
    made.refresh(1)
    made.refresh(1, "refused")
    made.use("access:2")


@sample("revoked_alive")
def a_revoked_key(made):
    made.do("make_key", answer={"issued": [{"thing": "key:k", "type": "key", "rests": ["key:k"]}]})
    made.end("key:k")
    made.use("key:k")


@sample("issued_after_end")
def a_refresh_after_the_end(made):
    begun(made)
    made.end(SESSION)
    made.refresh(1)


@sample("acknowledged_lost")
def a_token_that_is_gone(made):
    begun(made)
    made.use("access:1", False)


@sample("acknowledged_lost")
def a_code_that_is_gone(made):
    made.sign_in()
    made.code()
    made.redeem("refused")


@sample("acknowledged_lost")
def a_code_spent_though_the_server_was_busy(made):
    made.sign_in()
    made.code()
    made.redeem("busy")
    made.redeem("refused")


@sample("acknowledged_lost")
def a_refresh_token_spent_though_the_server_was_busy(made):
    begun(made)
    made.refresh(1, "busy")
    made.refresh(1, "refused")


@sample("acknowledged_lost")
def an_approval_that_still_waits(made):
    made.do("decide", answer={"issued": [
        {"thing": "ciba:1", "type": "ciba", "rests": ["account:ana"], "seconds": 300}]})
    made.wait(2)
    made.do("spend", "refused", {"error": "authorization_pending"}, thing="ciba:1")


@sample("acknowledged_lost")
def a_session_that_is_gone(made):
    made.sign_in()
    made.use(SESSION, False)


@sample("acknowledged_lost")
def an_approval_that_is_not_shown(made):
    made.do("read", answer={"found": False}, expects="approval:a")


@sample("write_lost")
def a_write_that_is_gone(made):
    made.write("a")
    made.write("b")
    made.read("a")


@sample("write_lost")
def an_old_unknown_write_that_comes_back(made):
    made.write("a", "unknown")
    made.wait(100)
    made.write("b")
    made.read("a")


@sample("widened_authority")
def more_than_was_asked(made):
    made.sign_in()
    made.code()
    made.redeem(scope=[*SCOPE, "invoices:approve"])


@sample("widened_authority")
def more_than_the_subject_token(made):
    made.do("exchange", answer=made.tokens(1), ceiling=["openid"], asked=SCOPE, client="web")


@sample("widened_authority")
def more_than_the_roles_confer(made):
    made.write(["manager"], key="roles:ana")
    made.do("spend", answer=made.tokens(1, ["invoices:write"], ["roles:ana"]), client="web", asked=["invoices:write"])
    made.write(["clerk"], key="roles:ana")
    made.wait(2)
    made.use("access:1", scope=["invoices:write"])


@sample("widened_authority")
def tokens_for_what_was_denied(made):
    made.do("spend", answer={"issued": []}, thing="ciba:1", denied=True)


@sample("server_error")
def a_500_without_a_fault(made):
    made.do("spend", "unknown", {"status": 500, "says_unknown": True})


@sample("server_error")
def a_500_that_says_something_else(made):
    made.fault("kill-postgres")
    made.do("spend", "unknown", {"status": 500, "says_unknown": False, "text": "a page"})


@sample()
def a_node_that_is_replaced_is_not_there_for_a_while(made):
    begun(made)
    made.replace("begins")
    made.do("begin", "unsent")
    made.use()
    made.replace("ends")
    made.refresh(1)


@sample("turned_away")
def nobody_listens_after_a_replacement(made):
    made.replace("begins")
    made.replace("ends")
    made.do("begin", "unsent")


@sample("turned_away")
def a_request_that_a_drain_cut_off(made):
    made.replace("begins")
    made.do("begin", "unknown")
    made.replace("ends")


@sample("turned_away")
def a_node_that_is_busy_because_another_is_replaced(made):
    made.replace("begins", node=1)
    made.do("begin", "busy", {"status": 503})
    made.replace("ends", node=1)


@sample()
def a_limit_that_says_no_while_a_node_is_replaced(made):
    made.replace("begins", node=1)
    made.do("begin", "busy", {"status": 429})
    made.replace("ends", node=1)


@sample("log_broken")
def a_log_that_does_not_prove_itself(made):
    made.finish(log=1)


@sample("record_lost")
def a_key_without_a_record(made):
    made.do("make_key", answer={"records": [["apikey.created", "k"]]})


@sample("never_delivered")
def a_webhook_that_never_came(made):
    made.fact("endpoint")
    made.do("make_key", answer={"records": [["apikey.created", "k"]]})
    made.finish(records=[("apikey.created", "k")])


@sample("never_delivered")
def a_webhook_that_never_came_long_after_the_endpoint(made):
    made.fact("endpoint")
    made.wait(40)
    making = made.ask("make_key")
    made.fault("clock-back")
    made.answer(making, records=[["apikey.created", "k"]])
    made.finish(records=[("apikey.created", "k")])


@sample("never_delivered")
def a_mail_that_never_came(made):
    for _ in range(2):
        made.do("send", promises=[["mail", "ana@acme.test"]])
    made.finish(mails=["ana@acme.test"])


@sample("never_delivered")
def a_logout_that_was_not_told(made):
    made.end(SESSION, promises=[["logout", "sid"]])


@sample("message_without_commit")
def a_webhook_of_what_never_was(made):
    made.fact("delivered", kind="webhook", event="apikey.created", id="k", record="r", signed=True)
    made.finish(ids=["another"])


@sample("message_without_commit")
def a_webhook_without_a_signature(made):
    made.fact("delivered", kind="webhook", event="apikey.created", id="k", record="r", signed=False)
    made.finish(ids=["r"])


@sample("node_failed")
def a_node_that_ended(made):
    made.fact("node_ended", node=1, code=1, served=True)


@sample("node_failed")
def a_panic(made):
    made.fact("panic", node=1, text="panicked at")


@sample("node_failed")
def a_client_that_does_not_go_on(made):
    made.fact("not_back", who="client code")


@sample("incomplete")
def a_history_without_its_end(made):
    made.sign_in()
