-- Offered requests that met every declared limit, by run and tenth of the window by arrival.
--
-- Every offered request of the window is in the denominator. A request meets the objective when it
-- completed and kept every declared limit; a limit that is NULL is not declared. Requests still
-- open when the run ended could go either way, unless they are past a limit already. The tenths
-- are consecutive in arrival order and differ by one request at most; requests whose arrival is
-- unknown have none.
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
-- @column block INTEGER Tenth of the window by arrival, 1 to 10; NULL where arrival is unknown.
-- @column n_offered BIGINT Offered requests.
-- @column n_met BIGINT Of these, how many met every declared limit.
-- @column n_no_cadence BIGINT Of those that met, answers too short for the cadence that is limited.
-- @column n_open BIGINT Of these, how many were open and past no limit when the run ended.
WITH chosen AS (
    SELECT
        *,
        coalesce(
            slip_us(
                origin_used($origin::VARCHAR, n_placed, has_schedule), scheduled_us, sent_us
            ),
            0
        ) AS slip
    FROM windowed($run_ids::VARCHAR[], $start_us::BIGINT, $end_us::BIGINT)
),

sizes AS (
    SELECT
        run_id,
        count(place) AS n,
        min(place) AS first_place
    FROM chosen
    GROUP BY run_id
),

judged AS (
    SELECT
        chosen.run_id,
        block_of(chosen.place - sizes.first_place, sizes.n)::INTEGER AS block,
        chosen.outcome = 'completed'
        AND keeps_limits(
            chosen.ttft_us, chosen.latency_us, chosen.output_tokens, chosen.n_chunks,
            chosen.max_gap_us, chosen.slip, $ttft_limit_ms::DOUBLE, $tpot_limit_ms::DOUBLE,
            $stall_limit_ms::DOUBLE, $latency_limit_ms::DOUBLE
        ) AS met,
        lacks_cadence(
            chosen.output_tokens, chosen.n_chunks, $tpot_limit_ms::DOUBLE, $stall_limit_ms::DOUBLE
        ) AS no_cadence,
        is_open(chosen.outcome)
        AND NOT is_past_limits(
            chosen.ttft_us, chosen.max_gap_us, chosen.last_seen_us - chosen.arrival_us,
            chosen.slip, $ttft_limit_ms::DOUBLE, $stall_limit_ms::DOUBLE,
            $latency_limit_ms::DOUBLE
        ) AS still_open
    FROM chosen
    INNER JOIN sizes ON chosen.run_id = sizes.run_id
)

SELECT
    run_id,
    block,
    count(*) AS n_offered,
    count(*) FILTER (WHERE met) AS n_met,
    count(*) FILTER (WHERE met AND no_cadence) AS n_no_cadence,
    count(*) FILTER (WHERE still_open) AS n_open
FROM judged
GROUP BY run_id, block
ORDER BY run_id, block NULLS LAST
