/* Plans saved to and loaded from files: what was decided, and for which matrix.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/sparse_blas/native.h"
#include "src/sparse_blas/plan_file.h"

/* Of offsets and indices; the same whatever their width. */
static int64_t hash_of(const tsr_view *a)
{
    uint64_t hash = (uint64_t)a->nvec;
    for (int64_t k = 0; k < a->nvec + 1 + a->nvals; k++) {
        const int64_t e = k - a->nvec - 1;
        const int64_t number = e < 0 ? a->p[k] : tsr_offset(a->i, a->index_size == 4, e);
        hash = (hash ^ (uint64_t)number) * UINT64_C(0x9E3779B97F4A7C15);
        hash ^= hash >> 32;
    }
    return (int64_t)hash;
}

/* ---- to a file ---- */

static void describe_matrix(tsr_saved_plan *s, const tsr_view *a)
{
    s->nrows = a->nrows;
    s->ncols = a->ncols;
    s->nvals = a->nvals;
    s->by_col = a->by_col;
    s->a_type = a->type;
    s->iso = a->iso;
    s->pattern = hash_of(a);
}

#define SAVE_DENSE(s, d, dense) \
    (s)->d##_type = (dense)->type; \
    (s)->d##_layout = (dense)->layout; \
    (s)->d##_nrows = (dense)->nrows; \
    (s)->d##_ncols = (dense)->ncols; \
    (s)->d##_ld = (dense)->ld; \
    (s)->d##_memory = (dense)->memory

#define LOAD_DENSE(s, d) \
    (tsr_dense) \
    { \
        .type = (tsr_type)(s)->d##_type, .layout = (tsr_layout)(s)->d##_layout, .nrows = (s)->d##_nrows, .ncols = (s)->d##_ncols, \
        .ld = (s)->d##_ld, .memory = (tsr_memory_space)(s)->d##_memory \
    }

static tsr_saved_plan saved_of(const tsr_plan *plan)
{
    const tsr_semiring semiring = plan->call.product.semiring;
    const double calls = ceil(plan->call.expected_calls);
    tsr_saved_plan s = {.op = plan->op, .type = semiring.type, .add = semiring.add, .mul = semiring.mul, .flags = plan->flags,
                        .precision = plan->call.precision, .expected_calls = calls < 1e18 ? (int64_t)calls : INT64_C(1000000000000000000),
                        .build_a = plan->decision.build_a};
    describe_matrix(&s, &plan->a->view);
    SAVE_DENSE(&s, first, &plan->first);
    SAVE_DENSE(&s, second, &plan->second);
    snprintf(s.kernel, sizeof s.kernel, "%s", tsr_native_device_kernel(plan));
    return s;
}

static tsr_status io_failed(const char *what, const char *path)
{
    return tsr_native_fail(TSR_IO_ERROR, "path = %s cannot be %s: %s", path, what, errno ? strerror(errno) : "unknown error");
}

tsr_status tsr_plan_save(const tsr_plan *plan, const char *path)
{
    unsigned char bytes[TSR_PLAN_FILE_BYTES];
    if (!plan || !path) {
        return tsr_native_null(plan ? "path" : "plan");
    }
    const tsr_saved_plan saved = saved_of(plan);
    tsr_plan_file_print(bytes, &saved);
    errno = 0;
    FILE *file = fopen(path, "wb");
    if (!file) {
        return io_failed("opened", path);
    }
    const bool written = fwrite(bytes, sizeof bytes, 1, file) == 1;
    return fclose(file) == 0 && written ? TSR_OK : io_failed("written", path);
}

/* ---- from a file ---- */

/* `most` bytes at most. */
static tsr_status read_bytes(unsigned char *bytes, size_t most, size_t *size, const char *path)
{
    errno = 0;
    FILE *file = fopen(path, "rb");
    if (!file) {
        return io_failed("opened", path);
    }
    *size = fread(bytes, 1, most, file);
    const bool failed = ferror(file);
    fclose(file);
    return failed ? io_failed("read", path) : TSR_OK;
}

static tsr_status check_matrix(const tsr_saved_plan *s, const tsr_view *a)
{
    if (s->nrows != a->nrows || s->ncols != a->ncols) {
        return tsr_native_fail(TSR_DIMENSION_MISMATCH, "a is %lld x %lld, the plan is for %lld x %lld", (long long)a->nrows, (long long)a->ncols,
                               (long long)s->nrows, (long long)s->ncols);
    }
    const bool alike = s->nvals == a->nvals && s->by_col == a->by_col && s->a_type == (int64_t)a->type && s->iso == a->iso;
    if (!alike || s->pattern != hash_of(a)) {
        return tsr_native_fail(TSR_INVALID_VALUE, "a has another %s than the matrix of the plan", alike ? "pattern" : "form, type or number of entries");
    }
    return TSR_OK;
}

tsr_status tsr_native_load(tsr_plan **plan, tsr_sparse *a, const unsigned char *bytes, size_t size)
{
    tsr_saved_plan saved;
    const char *why;
    tsr_status status = tsr_plan_file_parse(&saved, bytes, size, &why);
    if (status != TSR_OK) {
        return tsr_native_fail(status, "the file of the plan: %s", why);
    }
    status = check_matrix(&saved, &a->view);
    if (status != TSR_OK) {
        return status;
    }
    const tsr_semiring semiring = {(tsr_type)saved.type, (tsr_add)saved.add, (tsr_mul)saved.mul};
    const tsr_dense first = LOAD_DENSE(&saved, first), second = LOAD_DENSE(&saved, second);
    return tsr_native_plan(plan, (tsr_op)saved.op, semiring, a, &first, &second, (unsigned)saved.flags, &saved);
}

tsr_status tsr_plan_load(tsr_plan **plan, tsr_sparse *a, const char *path)
{
    unsigned char bytes[TSR_PLAN_FILE_BYTES + 1]; /* one more: a file that is too long is not what it says */
    size_t size = 0;
    if (!plan || !a || !path) {
        return tsr_native_null(!plan ? "plan" : !a ? "a" : "path");
    }
    const tsr_status status = read_bytes(bytes, sizeof bytes, &size, path);
    return status == TSR_OK ? tsr_native_load(plan, a, bytes, size) : status;
}
