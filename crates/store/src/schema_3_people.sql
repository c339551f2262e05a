-- An agent whose credential was taken back. The log says so too, and is the one that is believed.
ALTER TABLE agents ADD COLUMN revoked_at INTEGER;
CREATE INDEX records_of_agent ON records (json_extract(leaf, '$.claims.agent')) WHERE type IN ('agent_added', 'agent_revoked');

-- Why a request ended, for its agent.
ALTER TABLE requests ADD COLUMN end_code TEXT;

-- Whose agent is gone without having had the call's id: until when it may come back.
ALTER TABLE requests ADD COLUMN orphaned_until INTEGER;
CREATE INDEX requests_orphaned ON requests (orphaned_until) WHERE orphaned_until IS NOT NULL;

-- When a waiting request is passed on, and the record that says that it was.
ALTER TABLE requests ADD COLUMN escalate_at INTEGER;
ALTER TABLE requests ADD COLUMN escalated_position INTEGER;
CREATE INDEX requests_to_escalate ON requests (escalate_at) WHERE escalate_at IS NOT NULL;
