-- Whether whoever sent a call was told its id. A start takes those whose gate died before for gone, until they ask again.
ALTER TABLE calls ADD COLUMN told INTEGER NOT NULL DEFAULT 0 CHECK (told IN (0, 1));
-- What was asked of a gate that did not write this down had its answer, as far as anybody knows.
UPDATE calls SET told = 1;
