-- What answers have used: see store/usage.py. In the rows of the user 0 is what all of a tenant have. `cost` is a decimal number.
CREATE TABLE usage (
    tenant INTEGER NOT NULL,
    user INTEGER NOT NULL,
    day TEXT NOT NULL,
    model TEXT NOT NULL,
    currency TEXT NOT NULL,
    answers INTEGER NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cached_tokens INTEGER NOT NULL,
    cost TEXT NOT NULL,
    PRIMARY KEY (tenant, user, day, model, currency)
) STRICT, WITHOUT ROWID;
