"""What there is: organizations, people, clients; made once, before the first fault."""

import parties
from parties import PASSWORD, SECRET

# What each role of acme confers.
ROLES = {
    "clerk": ["invoices:read"],
    "manager": ["invoices:read", "invoices:write", "invoices:approve"],
}


def person(email, roles=("manager",)):
    return parties.person(email, "acme", roles)


def provisioning(emails, logout, connection=""):
    told = f'backchannel_logout_uri = "{logout}"\nbackchannel_logout_session_required = true\n'
    clients = parties.web(told) + parties.machine("billing", "acme") + parties.CLIENTS
    permissions = parties.resource("invoices:read", "invoices:write", "invoices:approve")
    return permissions + parties.organization("acme", "Acme Lda") + clients + connection + "".join(map(person, emails))


def connection(issuer):
    """Sign-in by another provider, for accounts outside any organization's own."""
    return (
        f'\n[[connection]]\nname = "Other"\nkind = "oidc"\nissuer = "{issuer}"\nclient_id = "porteiro"\n'
        'client_secret_file = "other.secret"\n'
    )


def upstream_client(callback):
    """What the other provider knows of ours, and a person there."""
    return (
        f'[[client]]\nclient_id = "porteiro"\nclient_secret = "{SECRET}"\nredirect_uris = ["{callback}"]\n'
        "trusted = true\nclaims_in_id_token = true\n"
        f'\n[[account]]\nemail = "sso@other.test"\nemail_verified = true\npassword = "{PASSWORD}"\n'
    )
