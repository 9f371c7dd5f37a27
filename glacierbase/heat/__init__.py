"""`layout explain`, `advise`, `profile`, `simulate` and `ls`: the load on object keys. The core does not import this room.

The room `layout` makes the templates of keys. numpy, matplotlib and boto3, the extra `layout`, are imported when they are needed.

- `ahead`: read several sources side by side, in order.
- `extra`: import what the extra `layout` installs.
- `listing`: `layout ls`.
- `objectstore`: the client of the object store: pages, repeated requests, errors.
- `ranges`: the ranges of keys that are listed side by side.
"""
