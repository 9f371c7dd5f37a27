"""Results as text and as other formats.

- `documents`: the text and the JSON document of a command.
- `schemas`: the JSON Schemas of the documents.
- `screen`: text in the width of a terminal, with colours and tables.
- `side_by_side`: `status`, `pending` and `plan` of several environments.
- `formats`: the formats by name, and the files that a result is written to.
- `problems`: the findings of `lint` and `review` for programs: masked, escaped, each once.
- `markdown_blocks`: values as Markdown, and a comment that is cut between items.
- `links`: links from a comment to files on the page of the service.
- `github`, `gitlab`, `junit`, `markdown`, `sarif`: the formats of those findings.
"""
