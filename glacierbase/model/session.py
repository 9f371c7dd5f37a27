"""The nouns `SessionContext` and `RecordedSession`: the context of a session, and its record in the history."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SessionContext:
    """The catalog and namespace that complete names in a session, and its role.

    Attributes:
        catalog: the current catalog; on Snowflake the database.
        namespace: the current namespace; on Snowflake the schema.
        role: the current role; None if the engine has no roles.
    """

    catalog: str | None = None
    namespace: str | None = None
    role: str | None = None

    def __str__(self) -> str:
        place = ".".join(part for part in (self.catalog, self.namespace) if part) or "no namespace"
        return f"{place} as role {self.role}" if self.role else place


@dataclass(frozen=True, slots=True)
class RecordedSession(SessionContext):
    """The session of a file when the start of a statement is recorded.

    Attributes:
        statements: the indexes of the statements that had changed the session until then.
    """

    statements: tuple[int, ...] = ()

    @classmethod
    def of(cls, context: SessionContext, statements: tuple[int, ...]) -> RecordedSession:
        return cls(context.catalog, context.namespace, context.role, statements)

    @property
    def context(self) -> SessionContext:
        return SessionContext(self.catalog, self.namespace, self.role)
