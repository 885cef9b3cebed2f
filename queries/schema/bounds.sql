-- One row per run that offered a request: its own interval, and the origin latencies may count from.
-- `last_seen_us` is when the run was last heard of: open requests were under way until then.
CREATE TABLE bounds (
    run_id VARCHAR NOT NULL,
    n_measured BIGINT NOT NULL,
    n_placed BIGINT NOT NULL,
    first_us BIGINT,
    last_us BIGINT,
    last_seen_us BIGINT,
    has_schedule BOOLEAN NOT NULL
);
