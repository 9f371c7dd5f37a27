"""Results as text and as other formats.

- `documents`: the text and the JSON document of a command.
- `schemas`: the JSON Schemas of the documents.
- `screen`: text in the width of a terminal, with colours and tables.
- `side_by_side`: `status`, `pending` and `plan` of several environments.
- `formats`: the formats by name, and the files that a result is written to.
- `review/`: the formats of the findings of `lint` and `review`.
"""
