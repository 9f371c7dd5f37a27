-- MIGRATION_DESCRIPTION: Create the events table
-- MIGRATION_AUTHOR: Data Platform Team

CREATE SCHEMA IF NOT EXISTS {{ variables.database }}.@NAME@;

CREATE TABLE {{ variables.database }}.@NAME@.events (
  id          NUMBER(38, 0) NOT NULL,
  user_id     NUMBER(38, 0) NOT NULL,
  kind        VARCHAR,
  occurred_at TIMESTAMP_TZ NOT NULL
)
CLUSTER BY (TO_DATE(occurred_at));
