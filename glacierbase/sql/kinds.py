"""The kinds of objects that CREATE, ALTER and DROP name, and the words before them."""

from __future__ import annotations

# Words before the kind of an object.
MODIFIERS = (
    "GLOBAL", "LOCAL", "TEMPORARY", "TEMP", "VOLATILE", "EXTERNAL", "TRANSIENT", "HYBRID", "DYNAMIC", "ICEBERG", "EVENT",
    "SECURE", "RECURSIVE", "MATERIALIZED", "STREAMING", "AGGREGATE", "LIVE", "PRIVATE",
)  # fmt: skip
NAMESPACES = ("NAMESPACE", "SCHEMA", "DATABASE")
RELATIONS = ("TABLE", "VIEW")
INDEXES = ("INDEX", "BLOOMFILTER")
CREATED = {
    "FUNCTION": "create_function", "PROCEDURE": "create_procedure", "TASK": "create_task", "STREAM": "create_stream",
    "STAGE": "create_stage", "PIPE": "create_pipe", "ROLE": "create_role",
}  # fmt: skip
# Kinds of objects that are not tables and contain none.
OTHERS = (
    "CATALOG", "VOLUME", "CONNECTION", "SHARE", "RECIPIENT", "PROVIDER", "CREDENTIAL", "STORAGE", "SERVICE", "LOCATION",
    "GROUP", "USER", "WAREHOUSE", "SEQUENCE", "TAG", "RESOURCE", "NETWORK", "INTEGRATION", "SECRET", "POLICY", "MASKING",
    "FILE", "PASSWORD", "SESSION", "AUTHENTICATION", "ACCOUNT", "VARIABLE", "VAR", "EXTERNAL", "STREAMLIT", "NOTIFICATION", "API",
    "ROW", "CORTEX", "MANAGED", "ALERT", "COMPUTE", "IMAGE", "GIT", "AGGREGATION", "PROJECTION", "PRIVACY", "JOIN", "PACKAGES",
)  # fmt: skip
