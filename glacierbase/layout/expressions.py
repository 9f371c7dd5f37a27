"""The key macros as SQL: expressions that compute in an engine what the functions of `keys` compute in Python.

The texts are frozen: files in which they were rendered have been applied, and their rendered checksums are recorded. Another text
is another macro with a new name, however small the difference. Golden tests hold every character.

Every expression is a text for an input of any type, and NULL for NULL. What the functions do is documented: of Spark in
https://spark.apache.org/docs/latest/api/sql/ (`conv`, `md5`, `reverse`); of Snowflake below
https://docs.snowflake.com/en/sql-reference/functions/ (`concat`, `md5`, `md5_number_upper64`, `reverse`, `to_char`).
"""

from __future__ import annotations

from dataclasses import dataclass

from glacierbase.layout.keys import BUCKETS, LEVELS, bucket_width, checked

# `hash_path` repeats its argument up to 33 times: a macro of a macro of a macro would exhaust the memory.
_LONGEST = 10_000


@dataclass(frozen=True, slots=True)
class KeyExpressions:
    """The expressions of one dialect; the methods are the macros.

    Every `col` is the SQL of a column or an expression, and is part of the result as it is written. It must not depend on chance:
    some results contain it several times.

    Attributes:
        text: of an expression as text.
        upper_half: of the first 64 bits of a text's MD5 as a number.
    """

    text: str
    upper_half: str

    def reversed_id(self, col: str) -> str:
        return f"reverse({self._text(col)})"

    def hash_prefix(self, col: str, n: int) -> str:
        return f"substr(md5({self._text(col)}), 1, {checked('n', n, LEVELS)})"

    def hash_path(self, col: str, n: int) -> str:
        text = self._text(col)
        folders = (f"substr(md5({text}), {level}, 1), '/'" for level in range(1, checked("n", n, LEVELS) + 1))
        return f"concat({', '.join(folders)}, {text})"

    def bucket_prefix(self, col: str, n: int) -> str:
        bucket = f"mod({self.upper_half.format(self._text(col))}, {checked('n', n, BUCKETS)})"
        return f"lpad({self.text.format(bucket)}, {bucket_width(n)}, '0')"

    def _text(self, col: str) -> str:
        if not isinstance(col, str):
            raise TypeError(f"col is the text of a column or an expression, not {type(col).__name__}")
        if not col.strip():
            raise ValueError("col is empty")
        if len(col) > _LONGEST:
            raise ValueError(f"col has {len(col)} characters; allowed: {_LONGEST}")
        return self.text.format(col)


# `conv` returns up to 2^64 - 1 as decimal text, which is too large for BIGINT.
DIALECTS = {
    "spark": KeyExpressions("CAST({} AS STRING)", "CAST(conv(substr(md5({}), 1, 16), 16, 10) AS DECIMAL(20, 0))"),
    "snowflake": KeyExpressions("TO_VARCHAR({})", "MD5_NUMBER_UPPER64({})"),
}
# The macros, with their arguments in an example.
MACROS = {
    "reversed_id": "reversed_id('id')",
    "hash_prefix": "hash_prefix('id', 2)",
    "hash_path": "hash_path('id', 2)",
    "bucket_prefix": "bucket_prefix('id', 100)",
}
