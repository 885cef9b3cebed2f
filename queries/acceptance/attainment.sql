-- Offered requests that met every declared limit, by run: facts of the run, not a verdict.
--
-- Every offered request of the window is in the denominator. A request meets the objective when it
-- completed and kept every declared limit. Answers too short to have a cadence pass the cadence
-- limits. A limit that is NULL is not declared.
--
-- @param run_ids VARCHAR[] Runs to judge.
-- @param start_us BIGINT Start of the window over scheduled times; NULL is the run's own.
-- @param end_us BIGINT End of the window, exclusive; NULL is the run's own.
-- @param origin VARCHAR Latency counts from: scheduled or sent.
-- @param ttft_limit_ms DOUBLE Largest acceptable TTFT; NULL is not declared.
-- @param tpot_limit_ms DOUBLE Largest acceptable mean time per output token; NULL is not declared.
-- @param stall_limit_ms DOUBLE Longest acceptable stall; NULL is not declared.
-- @param latency_limit_ms DOUBLE Largest acceptable completion latency; NULL is not declared.
-- @column run_id VARCHAR The run.
-- @column n_offered BIGINT Offered requests in the window.
-- @column n_met BIGINT Of these, how many met every declared limit.
-- @column n_no_cadence BIGINT Of those that met, answers too short to have a cadence.
-- @column attained DOUBLE n_met ÷ n_offered.
WITH judged AS (
    SELECT
        run_id,
        outcome = 'completed' AS completed,
        is_applicable('tpot_ms', output_tokens, n_chunks) AS has_tpot,
        is_applicable('stall_ms', output_tokens, n_chunks) AS has_stall,
        ($tpot_limit_ms::DOUBLE IS NOT NULL AND NOT has_tpot)
        OR ($stall_limit_ms::DOUBLE IS NOT NULL AND NOT has_stall) AS no_cadence,
        coalesce(
            slip_us(
                origin_used($origin::VARCHAR, n_placed, has_schedule), scheduled_us, sent_us
            ),
            0
        ) AS slip,
        is_within(ttft_us + slip, $ttft_limit_ms::DOUBLE)
        AND (
            is_within(tpot_us(latency_us, ttft_us, output_tokens), $tpot_limit_ms::DOUBLE)
            OR NOT has_tpot
        )
        AND (is_within(max_gap_us, $stall_limit_ms::DOUBLE) OR NOT has_stall)
        AND is_within(latency_us + slip, $latency_limit_ms::DOUBLE) AS within_limits
    FROM windowed($run_ids::VARCHAR[], $start_us::BIGINT, $end_us::BIGINT)
)

SELECT
    run_id,
    count(*) AS n_offered,
    count(*) FILTER (WHERE completed AND within_limits) AS n_met,
    count(*) FILTER (WHERE completed AND within_limits AND no_cadence) AS n_no_cadence,
    count(*) FILTER (WHERE completed AND within_limits) / count(*) AS attained
FROM judged
GROUP BY run_id
ORDER BY run_id
