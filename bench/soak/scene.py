"""What there is before the load: organizations, people, clients; and how long what comes later lives."""

import os
import sys

# Behind our own: some modules there have the same names.
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "chaos"))

import parties
from parties import CALLBACK, CIBA_GRANT, DEVICE_GRANT, EXCHANGE_GRANT, PASSWORD, SECRET

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
    common = parties.resource("invoices:read", "invoices:write") + parties.web() + parties.CLIENTS
    return common + "".join(map(organization, range(ORGANIZATIONS))) + "".join(map(person, range(PEOPLE)))


def organization(number):
    return parties.organization(slug(number), f"Company {number}") + parties.machine(f"billing-{number}", slug(number))


def person(number):
    return parties.person(email(number), slug(number))
