-- Which requests met an objective, and which are still open.

-- Whether a completed request kept every declared limit. Cadence limits pass where an answer is too
-- short to have a cadence. `slip` is the delay of the send that counts against the request.
CREATE MACRO keeps_limits(
    ttft_us,
    latency_us,
    output_tokens,
    n_chunks,
    max_gap_us,
    slip,
    ttft_limit_ms,
    tpot_limit_ms,
    stall_limit_ms,
    latency_limit_ms
) AS
    is_within(ttft_us + slip, ttft_limit_ms)
    AND (
        is_within(tpot_us(latency_us, ttft_us, output_tokens), tpot_limit_ms)
        OR NOT is_applicable('tpot_ms', output_tokens, n_chunks)
    )
    AND (
        is_within(max_gap_us, stall_limit_ms)
        OR NOT is_applicable('stall_ms', output_tokens, n_chunks)
    )
    AND is_within(latency_us + slip, latency_limit_ms);

-- Whether the run ended before it could be known what becomes of a request.
CREATE MACRO is_open(outcome) AS
    outcome IN ('cut_off', 'not_sent', 'unaccounted');

-- Whether an open request is past a limit already, so that it can only miss: its first token came
-- too late, a stall was too long, or it has been open for longer than a limit allows. The mean time
-- per token of an unfinished answer can still fall and decides nothing.
CREATE MACRO is_past_limits(
    ttft_us, max_gap_us, age_us, slip, ttft_limit_ms, stall_limit_ms, latency_limit_ms
) AS
    coalesce((ttft_us + slip) / 1000 > ttft_limit_ms, FALSE)
    OR coalesce(ttft_us IS NULL AND age_us / 1000 > ttft_limit_ms, FALSE)
    OR coalesce(max_gap_us / 1000 > stall_limit_ms, FALSE)
    OR coalesce(age_us / 1000 > latency_limit_ms, FALSE);

-- The tenth of n requests that the nth request (from 0) falls into, 1 to 10: the first
-- n mod 10 tenths are one request larger, as in numpy's array_split.
CREATE MACRO block_of(nth, n) AS
    CASE
        WHEN nth < (n % 10) * (divide(n, 10) + 1)
            THEN 1 + divide(nth, divide(n, 10) + 1)
        ELSE
            1 + n % 10
            + divide(nth - (n % 10) * (divide(n, 10) + 1), nullif(divide(n, 10), 0))
    END;
