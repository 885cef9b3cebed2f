-- Pairs of runs of one workload side by side: a row per offered request of either, by its index.
--
-- Metrics stand on the offered basis: infinity where a request never delivered, NULL where its
-- answer is too short or the side does not have it. Lengths are cut at the quartiles of both runs
-- together. Arrival, classes and lengths are those of A, else of B.
--
-- @param runs_a VARCHAR[] The runs on side A, one of each pair.
-- @param runs_b VARCHAR[] Their partners on side B; the same run gives differences of zero.
-- @param start_us BIGINT Start of the window over scheduled times; NULL is the run's own.
-- @param end_us BIGINT End of the window, exclusive; NULL is the run's own.
-- @param origin VARCHAR Latency counts from: scheduled or sent.
-- @column pair INTEGER The pair, from 0.
-- @column request_index INTEGER Position in the workload.
-- @column arrival_us BIGINT When it was due, from its run's zero.
-- @column a_outcome VARCHAR What became of it in A; NULL where A did not offer it.
-- @column b_outcome VARCHAR What became of it in B; NULL where B did not offer it.
-- @column a_ttft_ms DOUBLE TTFT in A.
-- @column b_ttft_ms DOUBLE TTFT in B.
-- @column a_tpot_ms DOUBLE Mean time per output token in A.
-- @column b_tpot_ms DOUBLE Mean time per output token in B.
-- @column a_stall_ms DOUBLE Longest stall in A.
-- @column b_stall_ms DOUBLE Longest stall in B.
-- @column a_latency_ms DOUBLE Completion latency in A.
-- @column b_latency_ms DOUBLE Completion latency in B.
-- @column prompt_tokens INTEGER Prompt length.
-- @column output_tokens INTEGER Output length asked for, else delivered.
-- @column prompt_class INTEGER Quartile of the prompt length, 1 to 4; NULL where it is unknown.
-- @column output_class INTEGER Quartile of the output length, 1 to 4; NULL where it is unknown.
-- @column prefix VARCHAR cold or eligible; NULL without a prefix group.
-- @column segment VARCHAR Part of the load: steady, burst, recovery or ramp; NULL where unknown.
-- @column turn_index INTEGER Turn in the session; NULL where unknown.
-- @column tenth INTEGER Tenth of the window by arrival, 1 to 10; NULL where arrival is unknown.
SELECT
    pair,
    request_index,
    coalesce(a.arrival_us, b.arrival_us) AS arrival_us,
    a.outcome::VARCHAR AS a_outcome,
    b.outcome::VARCHAR AS b_outcome,
    a.ttft_ms AS a_ttft_ms,
    b.ttft_ms AS b_ttft_ms,
    a.tpot_ms AS a_tpot_ms,
    b.tpot_ms AS b_tpot_ms,
    a.stall_ms AS a_stall_ms,
    b.stall_ms AS b_stall_ms,
    a.latency_ms AS a_latency_ms,
    b.latency_ms AS b_latency_ms,
    coalesce(a.prompt_tokens, b.prompt_tokens) AS prompt_tokens,
    coalesce(a.wanted_tokens, b.wanted_tokens) AS output_tokens,
    quartile_of(coalesce(a.prompt_tokens, b.prompt_tokens), cuts.of_prompt) AS prompt_class,
    quartile_of(coalesce(a.wanted_tokens, b.wanted_tokens), cuts.of_output) AS output_class,
    coalesce(a.prefix, b.prefix) AS prefix,
    coalesce(a.segment, b.segment) AS segment,
    coalesce(a.turn_index, b.turn_index) AS turn_index,
    coalesce(a.tenth, b.tenth) AS tenth
FROM
    side_of($runs_a::VARCHAR[], $start_us::BIGINT, $end_us::BIGINT, $origin::VARCHAR) AS a
FULL JOIN
    side_of($runs_b::VARCHAR[], $start_us::BIGINT, $end_us::BIGINT, $origin::VARCHAR) AS b
    USING (pair, request_index)
INNER JOIN
    length_cuts(
        $runs_a::VARCHAR[], $runs_b::VARCHAR[], $start_us::BIGINT, $end_us::BIGINT
    ) AS cuts
    USING (pair)
ORDER BY pair, request_index
