-- Splits of the selected requests. Lengths are cut at the quartiles of all selected runs together,
-- so that one frozen workload falls into the same classes in every run.

CREATE MACRO quartile_of(x, cuts) AS
    1 + (x > cuts[1])::INTEGER + (x > cuts[2])::INTEGER + (x > cuts[3])::INTEGER;

CREATE MACRO length_label(class, shortest, longest) AS
    CASE
        WHEN class IS NULL THEN 'length not recorded'
        ELSE shortest::VARCHAR || '–' || longest::VARCHAR || ' tokens'
    END;

CREATE MACRO hit_label(cached_tokens) AS
    CASE
        WHEN cached_tokens IS NULL THEN 'cached tokens not recorded'
        WHEN cached_tokens > 0 THEN 'prefix hit'
        ELSE 'no prefix hit'
    END;

CREATE MACRO stratified(run_ids, start_us, end_us, wanted) AS TABLE
WITH chosen AS (
    SELECT
        *,
        CASE wanted
            WHEN 'prompt_length' THEN prompt_tokens
            WHEN 'output_length' THEN coalesce(requested_output_tokens, output_tokens)
        END AS length_tokens
    FROM windowed_or_warmup(run_ids, start_us, end_us, wanted)
),

cuts AS (
    SELECT quantile_disc(length_tokens, [0.25, 0.5, 0.75]) AS cuts
    FROM chosen
),

placed AS (
    SELECT
        chosen.*,
        quartile_of(chosen.length_tokens, cuts.cuts) AS class,
        arrived.place_in_group
    FROM chosen
    CROSS JOIN cuts
    LEFT JOIN prefix_places(run_ids) AS arrived
        ON
            wanted = 'prefix'
            AND chosen.run_id = arrived.run_id
            AND chosen.phase = arrived.phase
            AND chosen.request_index = arrived.request_index
),

classes AS (
    SELECT
        class,
        min(length_tokens) AS shortest,
        max(length_tokens) AS longest
    FROM placed
    GROUP BY class
)

SELECT
    placed.*,
    CASE wanted
        WHEN 'prompt_length' THEN length_label(placed.class, classes.shortest, classes.longest)
        WHEN 'output_length' THEN length_label(placed.class, classes.shortest, classes.longest)
        WHEN 'prefix' THEN prefix_label(placed.prefix_group, placed.place_in_group)
        WHEN 'prefix_hit' THEN hit_label(placed.cached_tokens)
        WHEN 'segment' THEN coalesce(placed.segment, 'segment not recorded')
        WHEN 'phase' THEN placed.phase
        ELSE 'all'
    END AS stratum,
    coalesce(placed.class, 0) AS stratum_order
FROM placed
LEFT JOIN classes ON placed.class IS NOT DISTINCT FROM classes.class;
