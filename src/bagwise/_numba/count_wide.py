"""The recursions of `count_leaf` in numbers that cannot underflow, for the few bags that need them.

A wide number is mantissa * 2^(256 exponent), mantissa within [2^-128, 2^128) or 0, and has all digits of a
float: labels that a model all but excludes (log-likelihoods of -1e6 and less) stay exact. A cell costs some
ten times as much. Rows are kept at every sqrt(m)-th instance and computed again in between: memory is
O(sqrt(m) * top).

Rows and contexts are (2, width): values, and their derivatives in the direction v of the log-odds.
"""

from __future__ import annotations

import math

import numpy as np

from bagwise._numba.compiling import kernel
from bagwise._numba.count_leaf import write_prior
from bagwise._numba.scalar import both_sigmas

HIGH, LOW, UP, DOWN = 2.0**128, 2.0**-128, 2.0**256, 2.0**-256
# 256 log 2 in two parts; the first has so few digits that its product with a whole number is exact.
UNIT = 256 * math.log(2.0)
UNIT_HIGH = 177.4456787109375
UNIT_LOW = -4.8759150078918858e-07
ZERO = -(2**40)


@kernel
def tidy(mantissa, exponent):
    """Bring a mantissa within (2^-256, 2^256) into its range. O(1)."""
    size = abs(mantissa)
    if size >= HIGH:
        return mantissa * DOWN, exponent + 1
    if size >= LOW:
        return mantissa, exponent
    if size > 0.0:
        return mantissa * UP, exponent - 1
    return 0.0, ZERO


@kernel
def add_product(total, total_e, a, ae, b, be):
    """Return total + a * b of wide numbers. O(1)."""
    product, exponent = tidy(a * b, ae + be)
    if exponent > total_e:
        total, total_e, product, exponent = product, exponent, total, total_e
    if exponent < total_e:
        if total_e - exponent > 1:
            return total, total_e
        product *= DOWN
    return tidy(total + product, total_e)


@kernel
def wide_exp(x):
    """exp(x) as a wide number, to the last digits for every x that is not infinite; 0 for -inf. O(1)."""
    if x == -math.inf:
        return 0.0, ZERO
    exponent = math.floor(x / UNIT + 0.5)
    return tidy(math.exp((x - exponent * UNIT_HIGH) - exponent * UNIT_LOW), exponent)


@kernel
def ratio(a, ae, b, be):
    """Quotient of wide numbers as a float. O(1)."""
    steps = ae - be
    if a == 0.0 or steps < -5:
        return 0.0
    quotient = a / b
    while steps < 0:
        quotient *= DOWN
        steps += 1
    return quotient * UP if steps > 0 else quotient


@kernel
def add_row(out, out_e, source, source_e, shift, begin, end, factor, factor_e):
    """Add factor * source[k + shift] to out[k], k = begin..end - 1. O(end - begin)."""
    for k in range(begin, end):
        out[k], out_e[k] = add_product(
            out[k], out_e[k], source[k + shift], source_e[k + shift], factor, factor_e
        )


@kernel
def dot(x, x_e, y, y_e, shift, end):
    """Sum of x[k] * y[k + shift], k = 0..end - 1. O(end)."""
    total, exponent = 0.0, ZERO
    for k in range(end):
        total, exponent = add_product(total, exponent, x[k], x_e[k], y[k + shift], y_e[k + shift])
    return total, exponent


@kernel
def clear(row, row_e):
    """Set a row to zero. O(width)."""
    for part in range(2):
        for k in range(row.shape[1]):
            row[part, k], row_e[part, k] = 0.0, ZERO


@kernel
def copy_row(source, source_e, row, row_e):
    """Copy a row. O(width)."""
    for part in range(2):
        for k in range(row.shape[1]):
            row[part, k], row_e[part, k] = source[part, k], source_e[part, k]


@kernel
def mix(old, old_e, new, new_e, shift, begin, end, stay, absorbs, f, fe):
    """Carry rows or contexts over one instance; f holds p, q, d, -d, fe their exponents. O(width).

    new[k] = q old[k], k < stay, + p old[k + shift], k = begin..end - 1; what absorbs, at `stay`, is kept
    whole.
    """
    clear(new, new_e)
    for part in range(2):
        add_row(new[part], new_e[part], old[part], old_e[part], 0, 0, stay, f[1], fe[1])
        add_row(new[part], new_e[part], old[part], old_e[part], shift, begin, end, f[0], fe[0])
        if absorbs:
            add_row(new[part], new_e[part], old[part], old_e[part], 0, stay, stay + 1, 1.0, 0)
    add_row(new[1], new_e[1], old[0], old_e[0], 0, 0, stay, f[3], fe[3])
    add_row(new[1], new_e[1], old[0], old_e[0], shift, begin, end, f[2], fe[2])


@kernel
def fill_wide_factors(eta, v, f, fe):
    """Write sigma(eta), sigma(-eta), d = sigma(eta) sigma(-eta) v and -d as wide numbers. O(1)."""
    odds, exponent = wide_exp(-abs(eta))
    _, likely = both_sigmas(-abs(eta))
    small, exponent = tidy(odds * likely, exponent)
    high = 0 if eta > 0.0 else 1
    f[high], fe[high] = likely, 0
    f[1 - high], fe[1 - high] = small, exponent
    slope, exponent = tidy(small * likely, exponent)
    f[2], fe[2] = add_product(0.0, ZERO, slope, exponent, v, 0)
    f[3], fe[3] = -f[2], fe[2]


@kernel
def fill_rows(log_odds, v, begin, end, top, absorbs, rows, rows_e, f, fe):
    """Forward recursion from rows[0], the row before instance `begin`, to that before `end`. O(width)."""
    for j in range(begin, end):
        fill_wide_factors(log_odds[j], v[j], f, fe)
        full = absorbs and j >= top
        stay = top if full else min(j, top) + 1
        r = j - begin
        mix(rows[r], rows_e[r], rows[r + 1], rows_e[r + 1], -1, 1, min(j + 1, top) + 1, stay, full, f, fe)


@kernel
def wide_bag(log_odds, v, weight, weight_e, top, absorbs, posterior, complement, gradient, bent, counts):
    """One bag; `weight` is P(label | n). Returns mantissa and exponent of P(y), 0 if impossible. O(m * top).

    Writes the posterior of every instance, its complement, gradient, and the second derivative of log P(y)
    times v but for -gradient (gradient' v); and counts[n] = P(n | y), n = 0..top.
    """
    m = log_odds.shape[0]
    block = math.ceil(math.sqrt(m))
    kept = np.empty(((m + block - 1) // block, 2, top + 1))
    kept_e = np.empty(kept.shape, dtype=np.int64)
    rows, rows_e = np.empty((block + 1, 2, top + 1)), np.empty((block + 1, 2, top + 1), dtype=np.int64)
    f, fe = np.empty(4), np.empty(4, dtype=np.int64)
    clear(rows[0], rows_e[0])
    rows[0, 0, 0], rows_e[0, 0, 0] = 1.0, 0
    for begin in range(0, m, block):
        if begin > 0:
            copy_row(rows[block], rows_e[block], rows[0], rows_e[0])
        copy_row(rows[0], rows_e[0], kept[begin // block], kept_e[begin // block])
        end = min(begin + block, m)
        fill_rows(log_odds, v, begin, end, top, absorbs, rows, rows_e, f, fe)
    final, final_e = rows[(m - 1) % block + 1, 0], rows_e[(m - 1) % block + 1, 0]
    total, total_e = dot(final, final_e, weight, weight_e, 0, top + 1)
    if total == 0.0:
        return total, total_e
    for n in range(top + 1):
        product, exponent = tidy(final[n] * weight[n], final_e[n] + weight_e[n])
        counts[n] = ratio(product, exponent, total, total_e)
    context, context_e = np.empty((2, 2, top + 2)), np.empty((2, 2, top + 2), dtype=np.int64)
    clear(context[0], context_e[0])
    clear(context[1], context_e[1])
    for n in range(top + 1):
        context[m % 2, 0, n], context_e[m % 2, 0, n] = weight[n], weight_e[n]
    for j in range(m - 1, -1, -1):
        r = j % block
        if r == block - 1 and j < m - 1:  # the end of a block before the last: its rows once more
            copy_row(kept[j // block], kept_e[j // block], rows[0], rows_e[0])
            fill_rows(log_odds, v, j - r, j, top, absorbs, rows, rows_e, f, fe)
        c, ce, row, row_e = context[1 - j % 2], context_e[1 - j % 2], rows[r], rows_e[r]
        full = absorbs and j >= top
        stay = top if full else min(j, top) + 1
        positive, pe = dot(row[0], row_e[0], c[0], ce[0], 1, stay)
        negative, ne = dot(row[0], row_e[0], c[0], ce[0], 0, stay)
        moved, me = 0.0, ZERO
        for part in range(2):  # a' (c+ - c) + a (c+' - c')
            x, xe = dot(row[1 - part], row_e[1 - part], c[part], ce[part], 1, stay)
            moved, me = add_product(moved, me, x, xe, 1.0, 0)
            x, xe = dot(row[1 - part], row_e[1 - part], c[part], ce[part], 0, stay)
            moved, me = add_product(moved, me, x, xe, -1.0, 0)
        if full:
            positive, pe = add_product(positive, pe, row[0, top], row_e[0, top], c[0, top], ce[0, top])
            negative, ne = add_product(negative, ne, row[0, top], row_e[0, top], c[0, top], ce[0, top])
        fill_wide_factors(log_odds[j], v[j], f, fe)
        a, e = tidy(f[0] * positive, fe[0] + pe)
        b, be = tidy(f[1] * negative, fe[1] + ne)
        here, here_e = add_product(a, e, b, be, 1.0, 0)
        posterior[j], complement[j] = ratio(a, e, here, here_e), ratio(b, be, here, here_e)
        # p q (S1 - S0) / L is q posterior - p complement
        p, q = both_sigmas(log_odds[j])
        gradient[j] = q * posterior[j] - p * complement[j]
        a, e = tidy(f[0] * moved, fe[0] + me)
        bent[j] = (q - p) * v[j] * gradient[j] + q * ratio(a, e, here, here_e)
        mix(c, ce, context[j % 2], context_e[j % 2], 1, 0, stay, stay, full, f, fe)
    return total, total_e


@kernel
def wide_bags(
    log_odds,
    offsets,
    y,
    v,
    log_weight,
    first,
    last,
    which,
    posterior,
    complement,
    slope,
    counts,
    row,
    each,
    out,
):
    """Do the bags in `which` as `count_leaf.small_bags` does; writes log P(y_i) to `out`.

    `slope` is the gradient if v has length 0, else the Hessian times v. An impossible label says nothing of
    the instances: posterior sigma(eta), gradient 0.
    """
    for i in which:
        start, stop = offsets[i], offsets[i + 1]
        m, cap, begin = stop - start, last[i, y[i]], first[i, y[i]]
        possible = log_weight[begin + cap] > -math.inf
        absorbs = cap < m and possible
        top = m if cap >= m else (cap if absorbs else cap - 1)
        direction = v[start:stop] if len(v) else np.zeros(m)
        found, of_count = np.empty((4, m)), np.zeros(top + 1)
        weight, weight_e = np.empty(top + 1), np.empty(top + 1, dtype=np.int64)
        for n in range(top + 1):
            weight[n], weight_e[n] = wide_exp(log_weight[begin + n])
        total, total_e = 0.0, ZERO
        bad = False
        for j in range(start, stop):
            bad = bad or math.isnan(log_odds[j])
        if bad:
            out[i] = math.nan
        elif top >= 0:
            total, total_e = wide_bag(
                log_odds[start:stop],
                direction,
                weight,
                weight_e,
                top,
                absorbs,
                found[0],
                found[1],
                found[2],
                found[3],
                of_count,
            )
        if total == 0.0:
            if not bad:
                out[i] = -math.inf
            write_prior(log_odds, start, stop, posterior, complement, slope)
            for j in range(start, stop if bad and len(slope) else start):
                slope[j] = math.nan
            continue
        out[i] = min(0.0, total_e * UNIT_HIGH + (total_e * UNIT_LOW + math.log(total)))
        if row[i] >= 0:
            for n in range(top + 1):
                counts[row[i], min(n, counts.shape[1] - 1)] += each[i] * of_count[n]
        pull = 0.0
        for j in range(m if len(v) else 0):
            pull += found[2, j] * direction[j]
        for j in range(m):
            if len(posterior):
                posterior[start + j], complement[start + j] = found[0, j], found[1, j]
            if len(slope):
                slope[start + j] = found[3, j] - found[2, j] * pull if len(v) else found[2, j]
