-- MIGRATION_DESCRIPTION: Create the events table, partitioned by user and day
-- MIGRATION_AUTHOR: Data Platform Team

CREATE NAMESPACE IF NOT EXISTS lake.web;

CREATE TABLE lake.web.events (
  id        bigint    NOT NULL,
  user_id   bigint    NOT NULL,
  kind      string,
  timestamp timestamp NOT NULL
)
USING iceberg
PARTITIONED BY (bucket({{ variables.events.buckets }}, user_id), day(timestamp));
