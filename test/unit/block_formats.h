/* Every block format of one matrix by the same functions.  Included once in a program.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_BLOCK_FORMATS_H
#define TSR_BLOCK_FORMATS_H

#include "kernels/ref/formats.h"
#include "src/format/blocks/tc_blocks.h"

#include <string.h>

#include "test/unit/seeded.h"

enum { KINDS = 8 };

typedef struct format {
    tsr_me_tcf me_tcf;
    tsr_me_bcrs me_bcrs;
    tsr_bmat bmat;
    tsr_hrpb hrpb;
} format;

static const int kind_size[KINDS] = {0, 8, 16, 8, 16, 16, 32, 64}; /* width of ME-BCRS, else height */

static inline bool is_bcrs(int kind)
{
    return kind == 1 || kind == 2;
}

static inline tsr_status make(format *f, int kind, const tsr_source *in, double iso, int nthreads)
{
    memset(f, 0, sizeof *f);
    switch (kind) {
    case 0: return tsr_make_me_tcf(&f->me_tcf, in, nthreads);
    case 1:
    case 2: return tsr_make_me_bcrs(&f->me_bcrs, in, kind_size[kind], iso, nthreads);
    case 3:
    case 4: return tsr_make_bmat(&f->bmat, in, kind_size[kind], nthreads);
    default: return tsr_make_hrpb(&f->hrpb, in, kind_size[kind], nthreads);
    }
}

static inline void release(format *f)
{
    tsr_free_me_tcf(&f->me_tcf);
    tsr_free_me_bcrs(&f->me_bcrs);
    tsr_free_bmat(&f->bmat);
    tsr_free_hrpb(&f->hrpb);
}

static inline const tsr_windows *windows_of(const format *f, int kind)
{
    return kind == 0 ? &f->me_tcf.w : is_bcrs(kind) ? &f->me_bcrs.w : kind < 5 ? &f->bmat.w : &f->hrpb.w;
}

static inline const char *check(const format *f, int kind, tsr_number number)
{
    return kind == 0       ? tsr_check_me_tcf(&f->me_tcf)
           : is_bcrs(kind) ? tsr_check_me_bcrs(&f->me_bcrs, number)
           : kind < 5      ? tsr_check_bmat(&f->bmat)
                           : tsr_check_hrpb(&f->hrpb);
}

static inline tsr_status expand(tsr_source *out, const format *f, int kind, tsr_number number)
{
    return kind == 0       ? tsr_expand_me_tcf(out, &f->me_tcf, number)
           : is_bcrs(kind) ? tsr_expand_me_bcrs(out, &f->me_bcrs, number)
           : kind < 5      ? tsr_expand_bmat(out, &f->bmat, number)
                           : tsr_expand_hrpb(out, &f->hrpb, number);
}

static inline size_t bytes(const format *f, int kind, tsr_number number)
{
    return kind == 0       ? tsr_bytes_me_tcf(&f->me_tcf, number)
           : is_bcrs(kind) ? tsr_bytes_me_bcrs(&f->me_bcrs, number)
           : kind < 5      ? tsr_bytes_bmat(&f->bmat, number)
                           : tsr_bytes_hrpb(&f->hrpb, number);
}

static inline tsr_status multiply(const format *f, int kind, tsr_number number, double iso, int64_t n, const double *b, int64_t ldb,
                                  double *c, int64_t ldc, double alpha, double beta, double *magnitude)
{
    if (kind == 0)
        return tsr_ref_spmm_me_tcf(&f->me_tcf, number, iso, n, b, ldb, c, ldc, alpha, beta, magnitude);
    if (is_bcrs(kind))
        return tsr_ref_spmm_me_bcrs(&f->me_bcrs, number, n, b, ldb, c, ldc, alpha, beta, magnitude);
    if (kind < 5)
        return tsr_ref_spmm_bmat(&f->bmat, number, iso, n, b, ldb, c, ldc, alpha, beta, magnitude);
    return tsr_ref_spmm_hrpb(&f->hrpb, number, iso, n, b, ldb, c, ldc, alpha, beta, magnitude);
}

/* ---- what holds of all ---- */

/* Is the expansion the source?  zeros: it may lack entries of value zero. */
static inline void assert_expands(const tsr_source *in, const format *f, int kind, bool zeros)
{
    tsr_source back;
    size_t size = tsr_number_size(in->number);
    assert_int_equal(expand(&back, f, kind, in->number), TSR_OK);
    for (int64_t row = 0; row < in->nrows; row++) {
        int64_t k = back.p[row];
        for (int64_t e = in->p[row]; e < in->p[row + 1]; e++) {
            if (zeros && in->x && tsr_ref_number(in->x, in->number, e) == 0)
                continue;
            assert_true(k < back.p[row + 1]);
            assert_int_equal(back.i[k], in->i[e]);
            if (in->x)
                assert_memory_equal((const char *)back.x + (size_t)k * size, (const char *)in->x + (size_t)e * size, size);
            k++;
        }
        assert_int_equal(k, back.p[row + 1]);
    }
    assert_true(back.nrows == in->nrows && back.ncols == in->ncols && back.p[in->nrows] == back.nvals);
    tsr_free_source(&back);
}

static inline void assert_work(const tsr_windows *w, const uint64_t *mask)
{
    const int64_t limits[] = {1, 2, 3, 7, 64, 1 + draw(20)};
    for (int k = 0; k < 6; k++) {
        tsr_work work;
        assert_int_equal(tsr_make_work(&work, w, mask, limits[k]), TSR_OK);
        const char *broken = tsr_check_work(&work, w, mask, limits[k]);
        if (broken)
            fail_msg("work: %s", broken);
        for (int64_t t = 0; t < work.nitems; t++) {
            int64_t v = work.window[t], size = work.block[t + 1] - work.block[t];
            assert_true(size >= 0 && size <= limits[k] && (size || w->block[v] == w->block[v + 1]));
            assert_true(work.block[t] >= w->block[v] && work.block[t + 1] <= w->block[v + 1]);
        }
        tsr_free_work(&work);
    }
}

/* Every format: invariants, round trip, work, sizes. */
static inline void assert_formats(const tsr_source *in, int nthreads)
{
    for (int kind = 0; kind < KINDS; kind++) {
        format f;
        assert_int_equal(make(&f, kind, in, 1, nthreads), TSR_OK);
        const char *broken = check(&f, kind, in->number);
        if (broken)
            fail_msg("kind %d: %s", kind, broken);
        assert_expands(in, &f, kind, is_bcrs(kind));
        assert_work(windows_of(&f, kind), NULL);
        if (kind == 3 || kind == 4)
            assert_work(windows_of(&f, kind), f.bmat.mask);
        release(&f);
    }
}

#endif
