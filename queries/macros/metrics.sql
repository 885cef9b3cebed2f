-- What one request contributes to a metric; durations in microseconds.

-- Time per output token after the first: (latency - TTFT) / (output tokens - 1).
CREATE MACRO tpot_us(latency_us, ttft_us, output_tokens) AS
    (latency_us - ttft_us) / nullif(output_tokens - 1, 0);

CREATE MACRO metric_us(metric, ttft_us, latency_us, output_tokens, max_gap_us, slip_us) AS
    CASE metric
        WHEN 'ttft_ms' THEN (ttft_us + slip_us)::DOUBLE
        WHEN 'latency_ms' THEN (latency_us + slip_us)::DOUBLE
        WHEN 'tpot_ms' THEN tpot_us(latency_us, ttft_us, output_tokens)::DOUBLE
        WHEN 'stall_ms' THEN max_gap_us::DOUBLE
    END;

-- An answer of one token, or of one chunk, has no cadence.
CREATE MACRO is_applicable(metric, output_tokens, n_chunks) AS
    CASE metric
        WHEN 'tpot_ms' THEN coalesce(output_tokens > 1, TRUE)
        WHEN 'stall_ms' THEN coalesce(output_tokens > 1, TRUE) AND coalesce(n_chunks > 1, TRUE)
        ELSE TRUE
    END;

-- Whether a request is in the population of a basis at all.
CREATE MACRO is_in_basis(basis, outcome, source_success) AS
    CASE basis
        WHEN 'offered' THEN TRUE
        WHEN 'completed' THEN outcome = 'completed'
        WHEN 'source' THEN coalesce(source_success, FALSE)
    END;

-- Whether a request delivered what the metric measures. A first token counts whatever came later;
-- everything else needs a completed answer, except on the tool's own population.
CREATE MACRO is_delivered(metric, basis, outcome) AS
    metric = 'ttft_ms' OR basis = 'source' OR outcome = 'completed';

-- When a request arrived: by its schedule, or when it was sent if that was earlier or is all that
-- is known. `least` passes over NULL.
CREATE MACRO arrived_us(scheduled_us, sent_us) AS
    least(scheduled_us, sent_us);

-- Delay of the send behind the schedule, counted only where the run's origin is the schedule. A
-- request that was sent early has none: it waited for nothing before it was sent.
CREATE MACRO slip_us(origin, scheduled_us, sent_us) AS
    CASE WHEN origin = 'scheduled' THEN greatest(sent_us - scheduled_us, 0) ELSE 0 END;
