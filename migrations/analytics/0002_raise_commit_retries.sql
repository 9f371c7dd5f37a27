-- MIGRATION_DESCRIPTION: Increase commit resilience during high-concurrency backfills
-- MIGRATION_AUTHOR: Data Platform Team

ALTER TABLE lake.sleep.events SET TBLPROPERTIES (
'commit.retry.num-retries'='10',
'commit.retry.min-wait-ms'='1000',
'write.merge.isolation-level'='snapshot'
);
