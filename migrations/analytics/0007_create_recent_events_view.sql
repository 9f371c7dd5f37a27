-- MIGRATION_DESCRIPTION: Give analysts the events of the last thirty days without the device details
-- MIGRATION_AUTHOR: Analytics Team

CREATE VIEW lake.sleep.recent_events (id, user_id, event_type, strain, timestamp)
COMMENT 'the last thirty days, for dashboards'
AS SELECT id, user_id, event_type, strain, timestamp
FROM lake.sleep.events
WHERE timestamp >= current_date() - INTERVAL 30 DAYS;
