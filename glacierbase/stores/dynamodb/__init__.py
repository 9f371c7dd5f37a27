"""History and lock in one table of DynamoDB, without an engine: the catalogs of any engine share it.

- `store`: the store, with the compare-and-set of the lock.
- `requests`: the client, its retries, and the meaning of its errors.
- `items`: a lock and events as items, of which no text is too long.
- `definition`: the table, and the policy of the role that migrates.
"""

from glacierbase.stores.dynamodb.definition import commands
from glacierbase.stores.dynamodb.store import DynamoDbStore, open_store

__all__ = ["DynamoDbStore", "commands", "open_store"]
