-- MIGRATION_DESCRIPTION: Create the table of web events
-- MIGRATION_AUTHOR: Data Platform Team

CREATE SCHEMA IF NOT EXISTS @NAME@;

CREATE TABLE @NAME@.events (
  id          bigint    NOT NULL,
  user_id     bigint    NOT NULL,
  kind        string,
  occurred_at timestamp NOT NULL,
  day         date
)
USING delta;

ALTER TABLE @NAME@.events ADD COLUMNS (source string COMMENT 'The system that sent the event');

ALTER TABLE @NAME@.events SET TBLPROPERTIES (
  'delta.deletedFileRetentionDuration' = '{{ variables.events.retention }}'
);
