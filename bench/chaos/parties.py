"""Who takes part wherever clients run: what they know, and the clients that every scene has."""

SECRET = "a-secret-of-more-than-thirty-two-characters"
PASSWORD = "correct horse battery staple"
INVOICES = "https://api.example.com/invoices"
CALLBACK = "https://web.example.com/cb"
DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
CIBA_GRANT = "urn:openid:params:grant-type:ciba"
EXCHANGE_GRANT = "urn:ietf:params:oauth:grant-type:token-exchange"

CLIENTS = f"""
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
client_id = "invoices-api"
client_secret = "{SECRET}"
introspects = ["{INVOICES}"]
"""


def resource(*scopes):
    listed = ", ".join(f'"{scope}"' for scope in scopes)
    return f'\n[[resource]]\nidentifier = "{INVOICES}"\nname = "Invoices"\nscopes = [{listed}]\n'


def organization(slug, name):
    return f"""
[[organization]]
slug = "{slug}"
name = "{name}"
  [[organization.role]]
  name = "clerk"
  permissions = ["invoices:read"]
  [[organization.role]]
  name = "manager"
  permissions = ["invoices:*"]
"""


def web(more=""):
    """The client that people sign in to."""
    return (
        f'\n[[client]]\nclient_id = "web"\nclient_secret = "{SECRET}"\nredirect_uris = ["{CALLBACK}"]\ntrusted = true\n'
        + more
    )


def machine(name, slug):
    """A client of an organization that acts in its own name."""
    return f"""
[[client]]
client_id = "{name}"
client_secret = "{SECRET}"
organization = "{slug}"
roles = ["clerk"]
grant_types = ["client_credentials"]
"""


def person(email, slug, roles=("manager",)):
    held = ", ".join(f'"{role}"' for role in roles)
    return (
        f'\n[[account]]\nemail = "{email}"\nemail_verified = true\npassword = "{PASSWORD}"\ngiven_name = "Ana"\n'
        f'memberships = [{{ organization = "{slug}", roles = [{held}] }}]\n'
    )
