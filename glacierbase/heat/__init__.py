"""`layout explain`, `advise`, `profile`, `simulate` and `ls`: the load on object keys. The core does not import this room.

The room `layout` makes the templates of keys. numpy, matplotlib and boto3, the extra `layout`, are imported when they are needed.

- `explain`: the templates of a table, and of the tables of a migration.
- `declared`: the templates of the tables that migrations declare, in a sandbox.
- `profile`: `layout profile`: the shares of first and last characters of ids, and which key schemes are safe.
- `counting`, `safety`: count ids while they are read; what the counts mean for the key schemes.
- `ids`: read the ids of a column of a file or a table, in batches.
- `plots`: bars of text, and pictures.
- `extra`: import what the extra `layout` installs.
- `partitions`: a model of how an object store partitions keys; requests above the limits.
- `schemes`: key schemes; ids and their distributions.
- `simulate`: `layout simulate`.
- `simulation`: the results of `layout simulate`, and their text.
- `template_keys`: the key scheme of a table, from the template of its keys.
- `traffic`: the rate of requests over time.
"""
