-- A challenge proves by itself that this gate issued it, and the decisions on record say which ones were used.
DROP TABLE decision_challenges;

-- What is due asks for an operation's live token, and each move of an operation kills what is left of its tokens.
CREATE INDEX tokens_of_operation ON tokens (operation);
