-- MIGRATION_DESCRIPTION: Create the table of web events
-- MIGRATION_AUTHOR: Data Platform Team

CREATE SCHEMA IF NOT EXISTS @NAME@;

CREATE TABLE @NAME@.events (
  id          bigint,
  user_id     bigint,
  kind        string,
  occurred_at timestamp,
  day         date
)
USING hudi
TBLPROPERTIES (primaryKey = 'id');

ALTER TABLE @NAME@.events ADD COLUMNS (source string COMMENT 'The system that sent the event');

ALTER TABLE @NAME@.events SET TBLPROPERTIES (
  'hoodie.cleaner.commits.retained' = '{{ variables.events.retainedCommits }}'
);
