-- Every offered request of runs with its metrics, run by run and in order of arrival.
--
-- @param run_ids VARCHAR[] Runs to read.
-- @param origin VARCHAR Latency counts from: scheduled or sent.
-- @column run_id VARCHAR The run.
-- @column request_index INTEGER Position in the workload.
-- @column arrival_us BIGINT Scheduled time, or the send where earlier or alone known.
-- @column left_us BIGINT When it was last in flight; the last instant of the run for open ones.
-- @column outcome VARCHAR What became of it.
-- @column ttft_ms DOUBLE TTFT; infinity where it never came.
-- @column tpot_ms DOUBLE Mean time per output token; infinity where lost, NULL where too short.
-- @column stall_ms DOUBLE Longest stall; infinity where lost, NULL where too short.
-- @column latency_ms DOUBLE Completion latency; infinity where it never completed.
-- @column ttft_least_ms DOUBLE What an open request's TTFT is at least; NULL for all others.
-- @column stall_least_ms DOUBLE What an open request's longest stall is at least.
-- @column latency_least_ms DOUBLE What an open request's completion latency is at least.
SELECT
    run_id,
    request_index,
    arrival_us,
    CASE
        WHEN outcome = 'not_sent' THEN arrival_us
        WHEN is_open(outcome) THEN greatest(last_seen_us, arrival_us)
        ELSE greatest(last_known_us(scheduled_us, sent_us, ended_us, latency_us), arrival_us)
    END AS left_us,
    outcome::VARCHAR AS outcome,
    ttft_ms,
    tpot_ms,
    stall_ms,
    latency_ms,
    CASE
        WHEN is_open(outcome)
            THEN coalesce((ttft_us + slip) / 1000, (last_seen_us - arrival_us) / 1000)
    END AS ttft_least_ms,
    CASE WHEN is_open(outcome) THEN max_gap_us / 1000 END AS stall_least_ms,
    CASE WHEN is_open(outcome) THEN (last_seen_us - arrival_us) / 1000 END AS latency_least_ms
FROM valued($run_ids::VARCHAR[], NULL::BIGINT, NULL::BIGINT, $origin::VARCHAR)
ORDER BY run_id, place NULLS LAST, request_index
