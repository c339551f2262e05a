-- What the gate says of the end of its log and of this time, made with a key that lies outside the database.
ALTER TABLE clock ADD COLUMN seal BLOB CHECK (seal IS NULL OR length(seal) = 32);
