-- What the verdict of a class of requests rests on: the requests of a run, each with its class.
--
-- @param run_id VARCHAR The run.
-- @param run_ids VARCHAR[] All runs that are compared: they cut the classes of length together.
-- @param start_us BIGINT Start of the window over scheduled times; NULL is the run's own.
-- @param end_us BIGINT End of the window, exclusive; NULL is the run's own.
-- @param stratum VARCHAR What to split by, such as prompt_length, prefix or segment.
-- @param origin VARCHAR Latency counts from: scheduled or sent.
-- @param ttft_limit_ms DOUBLE Largest acceptable TTFT; NULL is not declared.
-- @param tpot_limit_ms DOUBLE Largest acceptable mean time per output token; NULL is not declared.
-- @param stall_limit_ms DOUBLE Longest acceptable stall; NULL is not declared.
-- @param latency_limit_ms DOUBLE Largest acceptable completion latency; NULL is not declared.
-- @column request_index INTEGER Position in the workload.
-- @column stratum VARCHAR The class.
-- @column stratum_order INTEGER Place of the class among the others.
-- @column met BOOLEAN Whether it completed and kept every declared limit.
-- @column still_open BOOLEAN Whether it was open and past no limit when the run ended.
WITH chosen AS (
    SELECT
        *,
        coalesce(
            slip_us(
                origin_used($origin::VARCHAR, n_placed, has_schedule), scheduled_us, sent_us
            ),
            0
        ) AS slip
    FROM
        stratified(
            $run_ids::VARCHAR[], $start_us::BIGINT, $end_us::BIGINT, $stratum::VARCHAR
        )
    WHERE run_id = $run_id::VARCHAR AND phase = 'measured'
)

SELECT
    request_index,
    stratum,
    stratum_order,
    outcome = 'completed'
    AND keeps_limits(
        ttft_us, latency_us, output_tokens, n_chunks, max_gap_us, slip,
        $ttft_limit_ms::DOUBLE, $tpot_limit_ms::DOUBLE, $stall_limit_ms::DOUBLE,
        $latency_limit_ms::DOUBLE
    ) AS met,
    is_open(outcome)
    AND NOT is_past_limits(
        ttft_us, max_gap_us, last_seen_us - arrival_us, slip, $ttft_limit_ms::DOUBLE,
        $stall_limit_ms::DOUBLE, $latency_limit_ms::DOUBLE
    ) AS still_open
FROM chosen
ORDER BY request_index
