"""Results as text and as other formats.

- `documents`: the text and the JSON document of a command.
- `schemas`: the JSON Schemas of the documents.
- `printable`: the one place where output is masked and escaped; plain text of lines and tables.
- `screen`: text in the width of a terminal, with colours and tables.
- `side_by_side`: `status`, `pending` and `plan` of several environments.
- `formats`: the formats by name, and the files that a result is written to.
- `problems`: the findings of `lint` and `review` for programs: masked, escaped, each once.
- `github`, `gitlab`, `junit`, `markdown`, `sarif`: the formats of those findings.
"""
