"""What there is before the load: organizations, people, clients; and how long what comes later lives."""

SECRET = "a-secret-of-more-than-thirty-two-characters"
PASSWORD = "correct horse battery staple"
INVOICES = "https://api.example.com/invoices"
CALLBACK = "https://web.example.com/cb"
DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
CIBA_GRANT = "urn:openid:params:grant-type:ciba"
EXCHANGE_GRANT = "urn:ietf:params:oauth:grant-type:token-exchange"

ORGANIZATIONS = 8
PEOPLE = 600

# Seconds. Short, so that everything that ends by itself does so many times in an hour.
LIFETIMES = {
    "authorization_code": 30, "access_token": 60, "id_token": 60, "refresh_idle": 180, "refresh_ceiling": 240,
    "session_idle": 180, "session_ceiling": 240, "par": 30, "device_code": 60, "ciba": 60, "flow": 120,
    "one_time_code": 60, "magic_link": 60,
}

# So long a row stays after its end (CLOCK_SKEW in src/domain/time.rs).
KEPT_SECONDS = 300


def longest_row():
    """Seconds from the birth of a row to its deletion, at most."""
    return max(LIFETIMES.values()) + KEPT_SECONDS


def slug(number):
    return f"company-{number % ORGANIZATIONS}"


def email(number):
    return f"person-{number}@example.com"


def provisioning():
    return CLIENTS + "".join(map(organization, range(ORGANIZATIONS))) + "".join(map(person, range(PEOPLE)))


def organization(number):
    return f"""
[[organization]]
slug = "{slug(number)}"
name = "Company {number}"
  [[organization.role]]
  name = "clerk"
  permissions = ["invoices:read"]
  [[organization.role]]
  name = "manager"
  permissions = ["invoices:*"]

[[client]]
client_id = "billing-{number}"
client_secret = "{SECRET}"
organization = "{slug(number)}"
roles = ["clerk"]
grant_types = ["client_credentials"]
"""


def person(number):
    return f"""
[[account]]
email = "{email(number)}"
email_verified = true
password = "{PASSWORD}"
given_name = "Ana"
memberships = [{{ organization = "{slug(number)}", roles = ["manager"] }}]
"""


CLIENTS = f"""
[[resource]]
identifier = "{INVOICES}"
name = "Invoices"
scopes = ["invoices:read", "invoices:write"]

[[client]]
client_id = "web"
client_secret = "{SECRET}"
redirect_uris = ["{CALLBACK}"]
trusted = true

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
