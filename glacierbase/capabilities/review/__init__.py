"""`check`, `lint` and `review`: what migrations do, before they run on a real table.

No catalog is contacted. `lint` reads the statements; `review` also runs them, on a throw-away copy of empty tables in memory;
`check` joins both with `validate`.

- `check`: the command: one answer about the form of the files, and about what their statements do.
- `lint`: the command: apply the rules in every environment, and rate the findings.
- `written`: the check of the files that other commands are about to write.
- `examine`: apply the rules to one file after another, in the worker process of a sandbox.
- `walk`: the statements of each file in its order, and what the files before it declare; for the rules and for the summaries.
- `rule`: the definition of a rule, and its arguments.
- `family`: the rules of a module: their descriptions from the Markdown file beside it, and rows for the simple ones.
- `catalogue`: all rules: those of `rules/`, a module and a Markdown file for each family, and those of installed packages.
- `table_properties`: the properties that the table formats define, from `table_properties.json`.
- `review`: the command: group the environments that render equally, replay, and add the findings of the rules.
- `statements`: a summary of each statement for `review`, and the statements that are not replayed.
- `reading`: read the files of a catalog for `review`; the summaries of base files, in the user's cache.
- `cost`: what a statement costs, how it is undone, and whom it breaks.
- `copy`: the configuration of the throw-away copy.
- `replay`: run the base and the new migrations on the copy, and compare the tables.
- `copied_tables`: the tables of the copy, and what a review compares beside their shapes.
- `trials`: the statements that show whether a table or a view works.
- `breakage`: what no longer works after the new migrations, and the statement that broke it.
- `base_states`: the states of the copy after the base, in the user's cache.
- `results`: findings and their severity, and the results of the commands.
"""
