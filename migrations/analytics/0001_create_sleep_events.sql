-- MIGRATION_DESCRIPTION: Create the sleep events table; readers filter by day and by user, so both are hidden partitions
-- MIGRATION_AUTHOR: Data Platform Team

CREATE NAMESPACE IF NOT EXISTS lake.sleep;

CREATE TABLE lake.sleep.events (
  id         bigint    NOT NULL,
  user_id    bigint    NOT NULL,
  kind       string,
  strain     float,
  timestamp  timestamp NOT NULL
)
USING iceberg
PARTITIONED BY (day(timestamp), bucket({{ .variables.sleep.events.bucketSize }}, id))
TBLPROPERTIES ('format-version' = '2');
