"""`layout explain`, `advise`, `profile`, `simulate` and `ls`: the load on object keys.

The room `layout` makes the templates of keys. numpy, matplotlib and boto3, the extra `layout`, are imported when they are needed.

- `access_log`: read server access logs of S3 as a stream.
- `advise`: how many prefixes a load needs, and the statements that make them.
- `advised`: the table of an advice, as the history records it, or as files declare it.
- `ahead`: read several sources side by side, in order.
- `counting`, `safety`: count ids while they are read; what the counts mean for the key schemes.
- `declared`: the templates of the tables that migrations declare, in a sandbox.
- `explained`: the keys of a table: template, and what decides it, or why it is not known.
- `explain`: the templates of a table, and of the tables of a migration.
- `extra`: import what the extra `layout` installs.
- `ids`: read the ids of a column of a file or a table, in batches.
- `listing`: `layout ls`.
- `log_traffic`: the requests of a log by second and prefix.
- `objectstore`: the client of the object store: pages, repeated requests, errors.
- `partitions`: a model of how an object store partitions keys; requests above the limits.
- `plots`: bars of text, and pictures.
- `profile`: `layout profile`: the shares of first and last characters of ids, and which key schemes are safe.
- `ranges`: the ranges of keys that are listed side by side.
- `rates`: the number of objects, and the requests at the peak.
- `remedies`: how each format spreads keys over prefixes.
- `replay`: `layout simulate --trace`: the predictions for a log.
- `schemes`: key schemes; ids and their distributions.
- `simulate`: `layout simulate`.
- `simulation_files`: the page and the pictures of `layout simulate`, from its `templates/`.
- `simulation_plots`: their plots.
- `simulation`: the results of `layout simulate`, and their text.
- `template_keys`: the key scheme of a table, from the template of its keys.
- `trace`: the result of a replayed log, and its text.
- `traffic`: the rate of requests over time.
"""
