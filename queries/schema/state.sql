-- Samples of the server's state; a sample holds from at_us for duration_us.
-- Active requests, tokens per iteration and retained cache are three quantities and stay apart.
CREATE TABLE state (
    run_id VARCHAR NOT NULL,
    at_us BIGINT NOT NULL,
    duration_us BIGINT CHECK (duration_us >= 0),
    step INTEGER,
    replica VARCHAR,
    running INTEGER CHECK (running >= 0),
    waiting INTEGER CHECK (waiting >= 0),
    paused INTEGER CHECK (paused >= 0),
    waiting_reason VARCHAR,
    kv_used BIGINT CHECK (kv_used >= 0),
    kv_reserved BIGINT CHECK (kv_reserved >= 0),
    kv_total BIGINT CHECK (kv_total >= 0),
    kv_fraction DOUBLE CHECK (kv_fraction >= 0),
    prefill_tokens INTEGER CHECK (prefill_tokens >= 0),
    decode_tokens INTEGER CHECK (decode_tokens >= 0),
    batch_size INTEGER CHECK (batch_size >= 0),
    preemptions_total BIGINT,
    prefix_hits_total BIGINT,
    prefix_queries_total BIGINT
);
