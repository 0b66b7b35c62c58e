"""What there is: organizations, people, clients; made once, before the first fault."""

SECRET = "a-secret-of-more-than-thirty-two-characters"
PASSWORD = "correct horse battery staple"
INVOICES = "https://api.example.com/invoices"
CALLBACK = "https://web.example.com/cb"
DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
CIBA_GRANT = "urn:openid:params:grant-type:ciba"
EXCHANGE_GRANT = "urn:ietf:params:oauth:grant-type:token-exchange"

# What each role of acme confers.
ROLES = {
    "clerk": ["invoices:read"],
    "manager": ["invoices:read", "invoices:write", "invoices:approve"],
}

CLIENTS = f"""
[[resource]]
identifier = "{INVOICES}"
name = "Invoices"
scopes = ["invoices:read", "invoices:write", "invoices:approve"]

[[organization]]
slug = "acme"
name = "Acme Lda"
  [[organization.role]]
  name = "clerk"
  permissions = ["invoices:read"]
  [[organization.role]]
  name = "manager"
  permissions = ["invoices:*"]

[[client]]
client_id = "web"
client_secret = "{SECRET}"
redirect_uris = ["{CALLBACK}"]
trusted = true
backchannel_logout_uri = "{{logout}}"
backchannel_logout_session_required = true

[[client]]
client_id = "tv"
grant_types = ["{DEVICE_GRANT}", "refresh_token"]
token_endpoint_auth_method = "none"

[[client]]
client_id = "agent"
client_secret = "{SECRET}"
grant_types = ["{CIBA_GRANT}", "refresh_token"]

[[client]]
client_id = "actor"
client_secret = "{SECRET}"
grant_types = ["{EXCHANGE_GRANT}"]

[[client]]
client_id = "billing"
client_secret = "{SECRET}"
organization = "acme"
roles = ["clerk"]
grant_types = ["client_credentials"]

[[client]]
client_id = "invoices-api"
client_secret = "{SECRET}"
introspects = ["{INVOICES}"]
"""


def person(email, roles=("manager",)):
    held = ", ".join(f'"{role}"' for role in roles)
    return (
        f'\n[[account]]\nemail = "{email}"\nemail_verified = true\npassword = "{PASSWORD}"\ngiven_name = "Ana"\n'
        f'memberships = [{{ organization = "acme", roles = [{held}] }}]\n'
    )


def provisioning(emails, logout, connection=""):
    return CLIENTS.replace("{logout}", logout) + connection + "".join(person(email) for email in emails)


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
