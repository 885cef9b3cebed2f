-- Percentiles of a sorted list in which lost requests stand at the end as +infinity.

-- Nearest rank: the smallest observed value that at least the share p of the list does not exceed.
-- The 1e-9 keeps 0.07 * 100 = 7.000000000000001 at rank 7.
CREATE MACRO nearest_rank(ordered, p) AS
    ordered[greatest(1, ceil(len(ordered) * p - 1e-9)::BIGINT)];

-- The rounding keeps 0.55 * 100 = 55.00000000000001 at position 55.
CREATE MACRO linear_position(n, p) AS round((n - 1) * p, 9);

-- Linear interpolation between closest ranks, position (n - 1) * p, as numpy's default does it.
-- Between a finite and an infinite value there is nothing to interpolate: the result is infinite.
CREATE MACRO linear_rank(ordered, p) AS
    CASE
        WHEN ceil(linear_position(len(ordered), p)) = floor(linear_position(len(ordered), p))
            THEN ordered[floor(linear_position(len(ordered), p))::BIGINT + 1]
        WHEN isinf(ordered[floor(linear_position(len(ordered), p))::BIGINT + 2])
            THEN 'infinity'::DOUBLE
        ELSE
            ordered[floor(linear_position(len(ordered), p))::BIGINT + 1]
            + (linear_position(len(ordered), p) - floor(linear_position(len(ordered), p)))
            * (
                ordered[floor(linear_position(len(ordered), p))::BIGINT + 2]
                - ordered[floor(linear_position(len(ordered), p))::BIGINT + 1]
            )
    END;

CREATE MACRO percentile_of(ordered, p, method) AS
    CASE method
        WHEN 'linear' THEN linear_rank(ordered, p)
        ELSE nearest_rank(ordered, p)
    END;
