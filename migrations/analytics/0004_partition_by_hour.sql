-- MIGRATION_DESCRIPTION: Partition by hour from now on: a day has outgrown one task of the nightly job
-- MIGRATION_AUTHOR: Data Platform Team

-- Metadata only: files written before keep their daily partitions and are read through the old spec.
ALTER TABLE lake.sleep.events REPLACE PARTITION FIELD day(timestamp) WITH hour(timestamp);
