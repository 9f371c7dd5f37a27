"""What the tests of the splitter share."""

from __future__ import annotations

import pytest

from glacierbase.errors import MigrationFileError
from glacierbase.migrations.statements import split_statements
from glacierbase.model.migration import Statement


def split(sql: str, dialect: str = "spark") -> tuple[Statement, ...]:
    return split_statements(sql, dialect)


def texts(sql: str, dialect: str = "spark") -> list[str]:
    return [statement.text for statement in split(sql, dialect)]


def refused(sql: str, dialect: str = "spark") -> MigrationFileError:
    with pytest.raises(MigrationFileError) as caught:
        split(sql, dialect)
    return caught.value


STRING = "UNTERMINATED_STRING"
IDENTIFIER = "UNTERMINATED_IDENTIFIER"
COMMENT = "UNTERMINATED_COMMENT"
BLOCK = "UNTERMINATED_BLOCK"

# Where a statement of a script may stand.
SNOWFLAKE_AROUND = [
    ("BEGIN ", "; END"), ("DECLARE x INT; c CURSOR FOR SELECT 1; BEGIN ", "; END"),
    ("BEGIN DECLARE x INT; BEGIN ", "; END; END"), ("BEGIN BEGIN TRANSACTION; ", "; COMMIT; END"),
    ("BEGIN IF (a) THEN SELECT 1; ELSEIF (b) THEN ", "; END IF; END"), ("BEGIN IF :a THEN b; ELSE ", "; END IF; END"),
    ("BEGIN CASE WHEN r.case = :case + $case THEN ", "; END; END"), ('BEGIN CASE :"a" WHEN 1 THEN ', "; END; END"),
    ("BEGIN LOOP ", "; END LOOP; END"), ("BEGIN LOOP ", "; END LOOP name; END"),
    ("BEGIN WHILE (a) DO ", "; END WHILE; END"), ("BEGIN WHILE (a) LOOP ", "; END LOOP; END"),
    ("BEGIN FOR i IN REVERSE 1 TO 3 DO ", "; END FOR name; END"), ("BEGIN FOR i IN 1 TO 3 LOOP ", "; END LOOP; END"),
    ("BEGIN FOR r IN c DO ", "; END FOR; END"), ("BEGIN REPEAT ", "; UNTIL (a) END REPEAT; END"),
    ("BEGIN CASE (a) WHEN 1 THEN ", "; END; END"), ("BEGIN CASE WHEN a THEN b; ELSE ", "; END CASE; END"),
    ("BEGIN SELECT 1; EXCEPTION WHEN a OR b THEN c; WHEN OTHER THEN ", "; RAISE; END"),
    ("CREATE PROCEDURE p(end INT, case INT) RETURNS TABLE (a INT) LANGUAGE SQL EXECUTE AS CALLER AS BEGIN ", "; END"),
    ("CREATE OR REPLACE FUNCTION f() RETURNS INT AS DECLARE x INT; BEGIN ", "; END"),
    ("CREATE TASK t CONFIG = $$;$$ WHEN f(CAST(1 AS begin)) AS -- c;\n BEGIN ", "; END"),
    ("ALTER TASK t MODIFY AS DECLARE x INT; BEGIN ", "; END"), ("ALTER ALERT a MODIFY ACTION BEGIN ", "; END"),
    ("CREATE ALERT action IF (EXISTS (SELECT 1 AS begin)) THEN BEGIN ", "; END"),
    ("WITH p AS PROCEDURE () RETURNS INT AS BEGIN ", "; END CALL p()"),
    ("DECLARE p PROCEDURE () RETURNS INT AS BEGIN ", "; END; x INT; BEGIN CALL p(); END"),
    ("BEGIN CREATE TASK t AS DECLARE x INT; BEGIN ", "; END; SELECT 1; END"),
]  # fmt: skip
