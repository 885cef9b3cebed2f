-- One row per run: what the pages choose runs by. The whole description stays in the run file.
CREATE TABLE runs (
    run_id VARCHAR NOT NULL UNIQUE,
    study VARCHAR NOT NULL,
    policy VARCHAR,
    label VARCHAR,
    harness VARCHAR NOT NULL,
    boundary VARCHAR NOT NULL,
    clock VARCHAR NOT NULL,
    load_kind VARCHAR NOT NULL,
    declared_rps DOUBLE CHECK (declared_rps > 0),
    concurrency INTEGER CHECK (concurrency > 0),
    n_offered BIGINT NOT NULL CHECK (n_offered >= 0),
    n_warmup BIGINT NOT NULL CHECK (n_warmup >= 0)
);
