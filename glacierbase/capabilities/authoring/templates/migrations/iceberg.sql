-- MIGRATION_DESCRIPTION: Create the events table, hidden-partitioned by day and user
-- MIGRATION_AUTHOR: Data Platform Team

CREATE NAMESPACE IF NOT EXISTS lake.web;

CREATE TABLE lake.web.events (
  id        bigint    NOT NULL,
  user_id   bigint    NOT NULL,
  kind      string,
  timestamp timestamp NOT NULL
)
USING iceberg
PARTITIONED BY (day(timestamp), bucket({{ variables.events.buckets }}, user_id));
