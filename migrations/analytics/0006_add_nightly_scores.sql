-- MIGRATION_DESCRIPTION: Add the table of nightly scores with its first reference rows, for the recovery model
-- MIGRATION_AUTHOR: Machine Learning Team

CREATE TABLE lake.sleep.score_levels (
  level   int    NOT NULL,
  meaning string NOT NULL
)
USING iceberg;

INSERT INTO lake.sleep.score_levels VALUES
  (1, 'rest; a semicolon in a string ends nothing'),
  (2, 'ready'),
  (3, 'peak');

CREATE TABLE lake.sleep.nightly_scores (
  user_id bigint NOT NULL,
  night   date   NOT NULL,
  level   int    NOT NULL
)
USING iceberg
PARTITIONED BY (month(night));
