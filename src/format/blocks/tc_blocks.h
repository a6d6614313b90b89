/* The block formats (src/format/blocks/formats.h) made on the host: the plain C that converters on a device must equal bit by bit.
 *
 * Conventions.  Sources are on the host.  Arrays of results are owned by the result and freed by the matching tsr_free_*, which
 * leave the struct empty and allow an empty one.  On failure the result is empty and nothing is leaked.  nthreads >= 1 is the
 * most threads to use; results do not depend on it.
 * Errors of every tsr_make_*: TSR_NOT_SUPPORTED: ncols > 2^32, or 2^31 entries or more in one window.  TSR_OUT_OF_MEMORY.
 * TSR_INVALID_VALUE: a height, width or number that the format does not have.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_FORMAT_TC_BLOCKS_H
#define TSR_FORMAT_TC_BLOCKS_H

#include "tessera/backend.h"
#include "src/format/blocks/degrees.h"
#include "src/format/blocks/formats.h"

/* ---- Sources ---- */

/* A view seen as a source.  Arrays of the view are borrowed where they fit and copied where not. */
typedef struct tsr_viewed {
    tsr_source source;
    double iso;     /* the value of every entry when source.x is NULL: that of an iso view, 1 for a pattern */
    void *i, *x;    /* copies, or NULL */
} tsr_viewed;

/* A sorted SPARSE view held by row, 32-bit or 64-bit indices; values FP32, FP64, iso of these, or none.  Values become `number`.
 * TSR_INVALID_VALUE: another format, by column, jumbled.  TSR_NOT_SUPPORTED: another type, ncols > 2^32.  TSR_OUT_OF_MEMORY. */
tsr_status tsr_view_source(tsr_viewed *out, const tsr_view *in, tsr_number number, int nthreads);
void tsr_free_viewed(tsr_viewed *viewed);

/* ---- Formats ---- */

tsr_status tsr_make_me_tcf(tsr_me_tcf *out, const tsr_source *in, int nthreads);
/* width: 8 or 16.  iso: what entries get when in->x is NULL (1 for a pattern). */
tsr_status tsr_make_me_bcrs(tsr_me_bcrs *out, const tsr_source *in, int width, double iso, int nthreads);
tsr_status tsr_make_bmat(tsr_bmat *out, const tsr_source *in, int height, int nthreads); /* height: 8 or 16 */
tsr_status tsr_make_hrpb(tsr_hrpb *out, const tsr_source *in, int height, int nthreads); /* height: 16, 32 or 64 */
/* height: 32 or 64; width: 16, 24, 32, 48 or 64; FP32 and FP64 only.  iso as for ME-BCRS. */
tsr_status tsr_make_panel(tsr_panel *out, const tsr_source *in, int height, int width, double iso, int nthreads);
tsr_status tsr_make_stencil(tsr_stencil *out, const tsr_source *in, int nthreads); /* in->x is not looked at */
void tsr_free_me_tcf(tsr_me_tcf *a);
void tsr_free_me_bcrs(tsr_me_bcrs *a);
void tsr_free_bmat(tsr_bmat *a);
void tsr_free_hrpb(tsr_hrpb *a);
void tsr_free_panel(tsr_panel *a);
void tsr_free_stencil(tsr_stencil *a);

/* mask: that of a BMat, for work->entry; NULL: work->entry is NULL.  TSR_INVALID_VALUE: most < 1. */
tsr_status tsr_make_work(tsr_work *out, const tsr_windows *windows, const uint64_t *mask, int64_t most);
void tsr_free_work(tsr_work *work);

/* Bytes of all arrays. */
size_t tsr_bytes_me_tcf(const tsr_me_tcf *a, tsr_number number);
size_t tsr_bytes_me_bcrs(const tsr_me_bcrs *a, tsr_number number);
size_t tsr_bytes_bmat(const tsr_bmat *a, tsr_number number);
size_t tsr_bytes_hrpb(const tsr_hrpb *a, tsr_number number);
size_t tsr_bytes_panel(const tsr_panel *a);
size_t tsr_bytes_stencil(const tsr_stencil *a);

/* TSR_NOT_SUPPORTED (ncols > 2^32) and TSR_OUT_OF_MEMORY leave *out zero. */
tsr_status tsr_make_statistics(tsr_statistics *out, const tsr_source *in, int nthreads);
/* The same of a matrix of nrows rows of which `in` holds row[0] < row[1] < … only; the others are empty. */
tsr_status tsr_make_statistics_of_rows(tsr_statistics *out, const tsr_source *in, const int64_t *row, int64_t nrows, int nthreads);

/* ---- Orders of rows (src/format/order/row_order.h) ---- */

/* order: [nrows], written.  TSR_INVALID_VALUE: AUTO.  TSR_NOT_SUPPORTED: 2^32 rows or columns.  TSR_OUT_OF_MEMORY. */
tsr_status tsr_make_order(uint32_t *order, const tsr_source *in, tsr_reorder which, int nthreads);

/* Row r of out = row rows[r] of in, r < n; a row may be taken several times.  *out owns its arrays: tsr_free_source.
 * TSR_OUT_OF_MEMORY: *out is empty. */
tsr_status tsr_take_rows(tsr_source *out, const tsr_source *in, const uint32_t *rows, int64_t n, int nthreads);

/* A sample of the rows in this order (NULL: their own), without values: *out owns its arrays.  TSR_OUT_OF_MEMORY: *out is empty. */
tsr_status tsr_sample_rows(tsr_source *out, const tsr_source *in, const uint32_t *order, int nthreads);

/* Nonzero vectors for an entry at heights 8, 16, 32, 64, 128, in a sample of the rows in this order (NULL: their own), for tsr_order_pays.
 * Errors of tsr_make_statistics. */
tsr_status tsr_sample_vectors(double vectors[5], const tsr_source *in, const uint32_t *order, int nthreads);

/* ---- Back to CSR: tests and inspection ---- */

/* *out owns its arrays: tsr_free_source.  x is NULL where the representation has no values.  ME-BCRS gives back the entries whose
 * value is not zero, others all entries.  TSR_OUT_OF_MEMORY: *out is empty. */
tsr_status tsr_expand_me_tcf(tsr_source *out, const tsr_me_tcf *a, tsr_number number);
tsr_status tsr_expand_me_bcrs(tsr_source *out, const tsr_me_bcrs *a, tsr_number number);
tsr_status tsr_expand_bmat(tsr_source *out, const tsr_bmat *a, tsr_number number);
tsr_status tsr_expand_hrpb(tsr_source *out, const tsr_hrpb *a, tsr_number number);
tsr_status tsr_expand_panel(tsr_source *out, const tsr_panel *a, tsr_number number); /* a pattern comes back with values */
void tsr_free_source(tsr_source *source);

/* ---- Invariants: NULL, or the first one that does not hold (static storage) ---- */

/* Arrays must have the lengths that the sizes in the struct say; their contents may be anything. */
const char *tsr_check_windows(const tsr_windows *w);
const char *tsr_check_me_tcf(const tsr_me_tcf *a);
const char *tsr_check_me_bcrs(const tsr_me_bcrs *a, tsr_number number);
const char *tsr_check_bmat(const tsr_bmat *a);
const char *tsr_check_hrpb(const tsr_hrpb *a);
const char *tsr_check_panel(const tsr_panel *a, tsr_number number);
const char *tsr_check_work(const tsr_work *work, const tsr_windows *windows, const uint64_t *mask, int64_t most);

/* ---- Shared by the files of the formats ---- */

/* Windows of a source.  *place: [nvals] number of each entry's vector in its window, freed by the caller with free. */
tsr_status tsr_make_windows(tsr_windows *out, uint32_t **place, const tsr_source *in, int height, int width, int nthreads);
void tsr_free_windows(tsr_windows *w);
size_t tsr_bytes_windows(const tsr_windows *w);

/* Windows of a source, then the rest of a format by `fill`, which is lent the same `place`.  On failure *w is to be freed. */
typedef tsr_status tsr_fill(void *context, const tsr_source *in, const uint32_t *place, int nthreads);
tsr_status tsr_make_format(tsr_windows *w, const tsr_source *in, int height, int width, int nthreads, tsr_fill *fill, void *context);

/* step(context, v) for every window v, on up to nthreads threads. */
void tsr_for_windows(const tsr_windows *w, int nthreads, void (*step)(void *context, int64_t v), void *context);

/* Rows of window v: [*first, *last). */
void tsr_window_rows(const tsr_windows *w, int64_t v, int64_t *first, int64_t *last);

/* Calls visit for every entry of a format in an order that meets the entries of each row with columns ascending; `from` is the
 * place of the entry's value. */
typedef void tsr_visit(void *context, int64_t row, uint32_t column, int64_t from);
typedef void tsr_walk(const void *format, tsr_visit *visit, void *context);

/* CSR of what walk meets. */
tsr_status tsr_expand(tsr_source *out, const tsr_windows *w, tsr_walk *walk, const void *format, const void *value,
                      tsr_number number);

#endif
