-- MIGRATION_DESCRIPTION: Sort new files by user, so that a user's nights lie in few row groups
-- MIGRATION_AUTHOR: Data Platform Team

ALTER TABLE lake.sleep.events WRITE DISTRIBUTED BY PARTITION LOCALLY ORDERED BY user_id, timestamp;
