"""`layout explain`, `advise`, `profile`, `simulate` and `ls`: the load on object keys. The core does not import this room.

The room `layout` makes the templates of keys. numpy, matplotlib and boto3, the extra `layout`, are imported when they are needed.

- `advise`: how many prefixes a load needs, and the statements that make them.
- `load`: the number of objects, and the requests at the peak.
- `remedies`: how each format spreads keys over prefixes.
- `advised`: the table of an advice, as the history records it, or as files declare it.
- `explain`: the templates of a table, and of the tables of a migration.
- `declared`: the templates of the tables that migrations declare, in a sandbox.
- `profile`: `layout profile`: the shares of first and last characters of ids, and which key schemes are safe.
- `counting`, `safety`: count ids while they are read; what the counts mean for the key schemes.
- `ids`: read the ids of a column of a file or a table, in batches.
- `plots`: bars of text, and pictures.
- `extra`: import what the extra `layout` installs.
"""
