-- What answers have used: see store/usage.py. In the rows of nobody (0) is what all of a tenant have.
CREATE TABLE threadkeep.usage (
    tenant integer NOT NULL,
    owner integer NOT NULL,
    day date NOT NULL,
    model text COLLATE "C" NOT NULL,
    currency text COLLATE "C" NOT NULL,
    answers bigint NOT NULL,
    input_tokens bigint NOT NULL,
    output_tokens bigint NOT NULL,
    cached_tokens bigint NOT NULL,
    cost numeric NOT NULL,
    PRIMARY KEY (tenant, owner, day, model, currency)
);
ALTER TABLE threadkeep.usage ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON threadkeep.usage USING (tenant IS NOT DISTINCT FROM threadkeep.present_tenant());

-- What an entry of a user adds to the sums; without a conversation, what another log has used.
CREATE TYPE threadkeep.used AS (
    owner integer, conversation bigint, seq integer, day date, model text, currency text, answers bigint, input_tokens bigint,
    output_tokens bigint, cached_tokens bigint, cost numeric
);
