/* Transpose, conversion and the check for finite values, against loops.
 *     --seed=N --count=N
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cuda/common/cuda_kernels.h"
#include "kernels/cuda/common/fp16_scaling.h"
#include "src/base/half.h"
#include "test/kernels/cases.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SPARE 16 /* elements before and behind the destination */
#define POISON 0xA5

typedef struct shape {
    int64_t rows, cols, src_ld, dst_ld, src_shift, dst_shift;
} shape;

static void must(tsr_status status, const char *what)
{
    if (status != TSR_OK) {
        printf("%s: status %d\n", what, (int)status);
        exit(1);
    }
}

static void *checked(void *p)
{
    if (p == NULL)
        abort();
    return p;
}

static void *upload(const void *host, size_t bytes)
{
    void *p = NULL;
    must(tsr_cuda_malloc(&p, bytes + 1, NULL), "malloc");
    must(tsr_cuda_to_device(p, host, bytes, NULL), "to device");
    return p;
}

/* Whether the device has `want` when it is done; got: room for as many bytes. */
static bool is_on_device(const void *device, void *got, const void *want, size_t bytes)
{
    must(tsr_cuda_to_host(got, device, bytes, NULL), "to host");
    must(tsr_cuda_wait(NULL), "wait");
    return memcmp(want, got, bytes) == 0;
}

static int64_t draw_length(rng *r)
{
    static const int64_t lengths[] = { 0, 1, 2, 3, 4, 5, 8, 31, 32, 33, 63, 64, 65, 100, 127, 128, 130, 257, 1000, 1500 };
    return lengths[rng_chance(r, 5) ? 0 : 1 + rng_below(r, 19)];
}

static int64_t draw_pad(rng *r, int64_t length)
{
    int64_t least = length > 0 ? length : 1;
    return rng_chance(r, 40) ? least : rng_chance(r, 50) ? (least + 15) / 16 * 16 : least + rng_below(r, 6);
}

/* transposed: whose rows the destination's leading dimension spans. */
static shape draw_shape(rng *r, bool transposed)
{
    shape s = { .rows = draw_length(r), .cols = draw_length(r) };
    s.src_ld = draw_pad(r, s.cols);
    s.dst_ld = draw_pad(r, transposed ? s.rows : s.cols);
    s.src_shift = rng_chance(r, 60) ? 0 : rng_below(r, SPARE);
    s.dst_shift = rng_chance(r, 60) ? 0 : rng_below(r, SPARE);
    return s;
}

static void report(const char *what, uint64_t seed, const shape *s)
{
    printf("FAIL %s, seed %llu: %lld x %lld, src ld %lld + %lld, dst ld %lld + %lld\n", what, (unsigned long long)seed,
        (long long)s->rows, (long long)s->cols, (long long)s->src_ld, (long long)s->src_shift, (long long)s->dst_ld,
        (long long)s->dst_shift);
}

static bool test_transpose(uint64_t seed)
{
    rng r = { seed };
    size_t size = (size_t)1 << rng_below(&r, 4);
    shape s = draw_shape(&r, true);
    size_t src_bytes = (size_t)(s.rows * s.src_ld + s.src_shift) * size,
           dst_bytes = (size_t)(s.cols * s.dst_ld + 2 * SPARE) * size;
    unsigned char *src = checked(malloc(src_bytes + 1)), *want = checked(malloc(dst_bytes)), *got = checked(malloc(dst_bytes));
    for (size_t at = 0; at < src_bytes; at++)
        src[at] = (unsigned char)rng_next(&r);
    memset(want, POISON, dst_bytes);
    for (int64_t i = 0; i < s.rows; i++)
        for (int64_t j = 0; j < s.cols; j++)
            memcpy(want + (size_t)(s.dst_shift + j * s.dst_ld + i) * size, src + (size_t)(s.src_shift + i * s.src_ld + j) * size,
                size);
    memset(got, POISON, dst_bytes);
    char *from = upload(src, src_bytes), *to = upload(got, dst_bytes);
    must(tsr_cuda_transpose(to + (size_t)s.dst_shift * size, s.dst_ld, from + (size_t)s.src_shift * size, s.src_ld, s.rows,
             s.cols, (int)size, NULL),
        "transpose");
    must(tsr_cuda_to_host(got, to, dst_bytes, NULL), "to host");
    must(tsr_cuda_wait(NULL), "wait");
    bool ok = memcmp(want, got, dst_bytes) == 0;
    if (!ok)
        report("transpose", seed, &s);
    tsr_cuda_free(from, NULL);
    tsr_cuda_free(to, NULL);
    free(src);
    free(want);
    free(got);
    return ok;
}

/* ---- 16-bit numbers, the obvious way: of all numbers with `bits` bits of fraction the nearest, ties to even ---- */

static double round_fraction(double x, int bits, int least_exponent)
{
    int exponent;
    frexp(x, &exponent);
    int last = (exponent > least_exponent ? exponent : least_exponent) - bits - 1;
    return ldexp(nearbyint(ldexp(x, -last)), last);
}

static uint16_t to_fp16(float x)
{
    uint16_t sign = signbit(x) ? 0x8000 : 0;
    if (isnan(x))
        return 0x7fff;
    double y = isinf(x) ? INFINITY : round_fraction(fabs((double)x), 10, -13);
    if (y > 65504)
        return sign | 0x7c00;
    if (y < 0x1p-14)
        return (uint16_t)(sign | (int)(y * 0x1p24));
    int exponent;
    double mantissa = frexp(y, &exponent);
    return (uint16_t)(sign | (exponent + 14) << 10 | ((int)(mantissa * 2048) & 0x3ff));
}

static uint16_t to_bf16(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    if (isnan(x))
        return 0x7fff;
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static float draw_float(rng *r)
{
    static const float odd[] = { 0.0f, -0.0f, 65504.0f, 65519.0f, 65520.0f, 1e30f, 3.4e38f, 1e-7f, 6e-8f, 2.9e-8f, 1e-40f,
        INFINITY, -INFINITY, 2049.0f, 2051.0f, 257.0f, 259.0f };
    if (rng_chance(r, 15))
        return odd[rng_below(r, 17)];
    return (float)ldexp((double)(rng_next(r) >> 11) - 0x1p52, (int)rng_below(r, 40) - 72);
}

static const size_t sizes[TSR_NUMBER_COUNT] = { 4, 8, 2, 2 };

static void put(tsr_number number, void *x, int64_t at, float value)
{
    switch (number) {
    case TSR_NUMBER_FP32: ((float *)x)[at] = value; break;
    case TSR_NUMBER_FP64: ((double *)x)[at] = value; break;
    case TSR_NUMBER_FP16: ((uint16_t *)x)[at] = to_fp16(value); break;
    case TSR_NUMBER_BF16: ((uint16_t *)x)[at] = to_bf16(value); break;
    }
}

/* The value that a number of 16 bits holds after it was put. */
static float held(tsr_number number, float value)
{
    switch (number) {
    case TSR_NUMBER_FP16: return tsr_float_of_fp16(to_fp16(value));
    case TSR_NUMBER_BF16: return tsr_float_of_bf16(to_bf16(value));
    default: return value;
    }
}

static bool test_transpose_widened(uint64_t seed)
{
    rng r = { seed };
    const tsr_number from = rng_chance(&r, 50) ? TSR_NUMBER_FP16 : TSR_NUMBER_BF16;
    shape s = draw_shape(&r, true);
    const int64_t src_count = s.rows * s.src_ld + s.src_shift, dst_count = s.cols * s.dst_ld + 2 * SPARE;
    uint16_t *src = checked(malloc((size_t)src_count * sizeof *src + 1));
    float *want = checked(malloc((size_t)dst_count * sizeof *want)), *got = checked(malloc((size_t)dst_count * sizeof *got));
    memset(want, POISON, (size_t)dst_count * sizeof *want);
    memset(got, POISON, (size_t)dst_count * sizeof *got);
    for (int64_t at = 0; at < src_count; at++) {
        const float value = draw_float(&r);
        const int64_t row = (at - s.src_shift) / s.src_ld, col = (at - s.src_shift) % s.src_ld;
        put(from, src, at, value);
        if (at >= s.src_shift && col < s.cols)
            want[s.dst_shift + col * s.dst_ld + row] = held(from, value);
    }
    uint16_t *in = upload(src, (size_t)src_count * sizeof *src);
    float *out = upload(got, (size_t)dst_count * sizeof *got);
    must(tsr_cuda_transpose_widened(out + s.dst_shift, s.dst_ld, in + s.src_shift, from, s.src_ld, s.rows, s.cols, NULL), "transpose_widened");
    const bool ok = is_on_device(out, got, want, (size_t)dst_count * sizeof *got);
    if (!ok)
        report("transpose_widened", seed, &s);
    tsr_cuda_free(in, NULL);
    tsr_cuda_free(out, NULL);
    free(src);
    free(want);
    free(got);
    return ok;
}

static bool test_convert(uint64_t seed)
{
    rng r = { seed };
    tsr_number to = (tsr_number)rng_below(&r, TSR_NUMBER_COUNT);
    tsr_number from = to == TSR_NUMBER_FP64 || rng_chance(&r, 30) ? to : TSR_NUMBER_FP32;
    if (to == TSR_NUMBER_FP32 && rng_chance(&r, 60))
        from = rng_chance(&r, 50) ? TSR_NUMBER_FP16 : TSR_NUMBER_BF16;
    shape s = draw_shape(&r, false);
    int64_t src_count = s.rows * s.src_ld + s.src_shift, dst_count = s.rows * s.dst_ld + 2 * SPARE;
    char *src = checked(malloc((size_t)src_count * 8 + 1)), *want = checked(malloc((size_t)dst_count * 8));
    char *got = checked(malloc((size_t)dst_count * 8));
    memset(want, POISON, (size_t)dst_count * 8);
    memset(got, POISON, (size_t)dst_count * 8);
    for (int64_t at = 0; at < src_count; at++) {
        float value = draw_float(&r);
        int64_t row = (at - s.src_shift) / s.src_ld, col = (at - s.src_shift) % s.src_ld;
        put(from, src, at, value);
        if (at >= s.src_shift && col < s.cols)
            put(to, want, s.dst_shift + row * s.dst_ld + col, held(from, value));
    }
    size_t bytes = (size_t)dst_count * sizes[to];
    char *in = upload(src, (size_t)src_count * sizes[from]), *out = upload(got, bytes);
    must(tsr_cuda_convert(out + (size_t)s.dst_shift * sizes[to], to, s.dst_ld, in + (size_t)s.src_shift * sizes[from], from,
             s.src_ld, s.rows, s.cols, NULL),
        "convert");
    const bool ok = is_on_device(out, got, want, bytes);
    if (!ok)
        report("convert", seed, &s);
    tsr_cuda_free(in, NULL);
    tsr_cuda_free(out, NULL);
    free(src);
    free(want);
    free(got);
    return ok;
}

/* One bad element, inside or in the padding, or none. */
static bool test_check(uint64_t seed)
{
    static const float bad[] = { INFINITY, -INFINITY, NAN, 0x1p15f, -0x1.8p15f };
    rng r = { seed };
    tsr_number number = (tsr_number)rng_below(&r, TSR_NUMBER_COUNT);
    shape s = draw_shape(&r, false);
    int64_t count = s.rows * s.src_ld + s.src_shift, place = rng_chance(&r, 20) ? -1 : rng_below(&r, count);
    bool limited = rng_chance(&r, 50), inside = place >= s.src_shift && (place - s.src_shift) % s.src_ld < s.cols;
    float value = bad[rng_below(&r, limited ? 5 : 3)];
    char *x = checked(malloc((size_t)count * 8 + 1));
    for (int64_t at = 0; at < count; at++)
        put(number, x, at, at == place ? value : (float)(rng_below(&r, 32767) - 16383));
    int flag = 0;
    char *in = upload(x, (size_t)count * sizes[number]);
    int *found = upload(&flag, sizeof flag);
    double limit = limited ? 0x1p15 : INFINITY;
    must(tsr_cuda_check_finite(found, in + (size_t)s.src_shift * sizes[number], number, s.src_ld, s.rows, s.cols, limit, NULL),
        "check");
    must(tsr_cuda_to_host(&flag, found, sizeof flag, NULL), "to host");
    must(tsr_cuda_wait(NULL), "wait");
    bool ok = (flag != 0) == (inside && s.rows > 0 && s.cols > 0);
    if (!ok)
        report("check_finite", seed, &s);
    tsr_cuda_free(in, NULL);
    tsr_cuda_free(found, NULL);
    free(x);
    return ok;
}

static uint32_t magnitude_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits & 0x7fffffff;
}

/* Whether none becomes 0 when the greatest is scaled to 2^14 or more, below 2^15, by such a shift. */
static bool fits(int *shift, const float *x, const shape *s)
{
    double greatest = 0, least = INFINITY;
    for (int64_t k = 0; k < s->rows * s->cols; k++) {
        double y = fabs((double)x[s->src_shift + k / s->cols * s->src_ld + k % s->cols]);
        if (!(y < INFINITY))
            return false;
        greatest = y > greatest ? y : greatest;
        least = y > 0 && y < least ? y : least;
    }
    *shift = greatest > 0 ? 14 - (int)floor(log2(greatest)) : 0;
    return abs(*shift) <= 40 && ldexp(least, *shift) >= 0x1p-24;
}

/* Range, shift and numbers of 16 bits; odd numbers anywhere, or some of similar size. */
static bool test_narrow(uint64_t seed)
{
    rng r = { seed };
    shape s = draw_shape(&r, false);
    int64_t count = s.rows * s.src_ld + s.src_shift, dst_count = s.rows * s.dst_ld + 2 * SPARE;
    bool odd = rng_chance(&r, 20);
    int size = (int)rng_below(&r, 90) - 45, spread = (int)rng_below(&r, 42);
    float *x = checked(malloc((size_t)count * sizeof *x + 1));
    uint16_t *want = checked(malloc((size_t)dst_count * 2)), *got = checked(malloc((size_t)dst_count * 2));
    memset(want, POISON, (size_t)dst_count * 2);
    memset(got, POISON, (size_t)dst_count * 2);
    for (int64_t at = 0; at < count; at++) {
        double y = (double)(rng_next(&r) >> 11) * 0x1p-52 - 1;
        x[at] = odd ? draw_float(&r) : rng_chance(&r, 5) ? 0 : (float)ldexp(y < 0 ? y - 0.5 : y + 0.5, size - (int)rng_below(&r, spread + 1));
    }
    uint32_t range[2] = { 0, 0 };
    char *in = upload(x, (size_t)count * sizeof *x), *out = upload(got, (size_t)dst_count * 2);
    uint32_t *found = upload(range, sizeof range);
    must(tsr_cuda_find_range(found, in + (size_t)s.src_shift * sizeof *x, s.src_ld, s.rows, s.cols, NULL), "range");
    must(tsr_cuda_to_host(range, found, sizeof range, NULL), "to host");
    must(tsr_cuda_wait(NULL), "wait");
    int shift, expected;
    bool narrow = tsr_fp16_scale(&shift, range), ok = narrow == fits(&expected, x, &s) && (!narrow || shift == expected);
    must(tsr_cuda_narrow(out + (size_t)s.dst_shift * 2, s.dst_ld, in + (size_t)s.src_shift * sizeof *x, s.src_ld, s.rows, s.cols,
             ldexpf(1, shift), NULL),
        "narrow");
    must(tsr_cuda_to_host(got, out, (size_t)dst_count * 2, NULL), "to host");
    must(tsr_cuda_wait(NULL), "wait");
    uint32_t greatest = 0, least = 0;
    for (int64_t k = 0; k < s.rows * s.cols; k++) {
        float y = x[s.src_shift + k / s.cols * s.src_ld + k % s.cols];
        uint32_t bits = magnitude_bits(y);
        greatest = bits > greatest ? bits : greatest;
        least = bits && ~bits > least ? ~bits : least;
        want[s.dst_shift + k / s.cols * s.dst_ld + k % s.cols] = to_fp16(ldexpf(y, shift));
    }
    ok = ok && range[0] == greatest && range[1] == least && (!narrow || memcmp(want, got, (size_t)dst_count * 2) == 0);
    if (!ok)
        report("narrow", seed, &s);
    tsr_cuda_free(in, NULL);
    tsr_cuda_free(out, NULL);
    tsr_cuda_free(found, NULL);
    free(x);
    free(want);
    free(got);
    return ok;
}

int main(int argc, char **argv)
{
    unsigned long long seed = 1;
    int count = 150, failed = 0;
    for (int at = 1; at < argc; at++)
        if (sscanf(argv[at], "--seed=%llu", &seed) != 1)
            (void)sscanf(argv[at], "--count=%d", &count);
    tsr_cuda_device device;
    if (tsr_cuda_count() == 0)
        return 77;
    must(tsr_cuda_open(0, &device), "open");
    for (uint64_t k = seed; k < seed + (uint64_t)count; k++)
        failed += !test_transpose(k) + !test_transpose_widened(k) + !test_convert(k) + !test_check(k) + !test_narrow(k);
    printf("%d cases of each: %d failed\n", count, failed);
    return failed != 0;
}
