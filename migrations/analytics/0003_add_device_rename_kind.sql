-- MIGRATION_DESCRIPTION: Record the measuring device, and call the kind of an event what the app calls it
-- MIGRATION_AUTHOR: Ingestion Team

ALTER TABLE lake.sleep.events ADD COLUMN device struct<model: string, firmware: string> COMMENT 'what measured it' AFTER kind;

-- A rename keeps the column's id: old files are read under the new name.
ALTER TABLE lake.sleep.events RENAME COLUMN kind TO event_type;

ALTER TABLE lake.sleep.events ALTER COLUMN strain TYPE double;
