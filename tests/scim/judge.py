"""Has scim2-tester judge the SCIM server at an address: judge.py ADDRESS, with the key in SCIM_KEY.

Every check must succeed, and of the two resource types each operation must have been tried.
"""

import os
import sys

from httpx2 import Client
from scim2_client.engines.httpx2 import SyncSCIMClient
from scim2_tester import Status, check_server

LEAST = 100


def main() -> int:
    headers = {"Authorization": f"Bearer {os.environ['SCIM_KEY']}"}
    with Client(base_url=sys.argv[1], headers=headers) as client:
        results = check_server(SyncSCIMClient(client))
    for result in results:
        if result.status != Status.SUCCESS:
            print(f"{result.status.name} {result.title} {result.resource_type}: {result.reason}")
    good = [result for result in results if result.status == Status.SUCCESS]
    tried = {(result.resource_type, tag) for result in good for tag in result.tags or ()}
    operations = ["crud:create", "crud:read", "crud:update", "crud:delete"]
    wanted = {(kind, tag) for kind in ("User", "Group") for tag in operations}
    for kind, tag in sorted(wanted - tried):
        print(f"not tried: {tag} of {kind}")
    print(f"{len(good)} of {len(results)} checks succeeded")
    whole = len(good) == len(results) >= LEAST and wanted <= tried
    return 0 if whole else 1


sys.exit(main())
