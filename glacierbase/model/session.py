"""The nouns `SessionContext` and `RecordedSession`: where a session is, and what the history keeps of it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SessionContext:
    """What names without a catalog or a namespace mean in a session, and who it is.

    Attributes:
        catalog: the current one; on Snowflake the database.
        namespace: the current one; on Snowflake the schema.
        role: the current one; None where the engine has none.
    """

    catalog: str | None = None
    namespace: str | None = None
    role: str | None = None

    def __str__(self) -> str:
        place = ".".join(part for part in (self.catalog, self.namespace) if part) or "no namespace"
        return f"{place} as role {self.role}" if self.role else place


@dataclass(frozen=True, slots=True)
class RecordedSession(SessionContext):
    """The session of a file at the announcement of a statement.

    Attributes:
        statements: the indexes of the statements that had set it until then.
    """

    statements: tuple[int, ...] = ()

    @classmethod
    def of(cls, context: SessionContext, statements: tuple[int, ...]) -> RecordedSession:
        return cls(context.catalog, context.namespace, context.role, statements)

    @property
    def context(self) -> SessionContext:
        return SessionContext(self.catalog, self.namespace, self.role)
