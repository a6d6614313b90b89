/* ME-BCRS of FlashSparse.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/format/blocks/tc_blocks.h"
#include "src/base/split.h"

#include <stdlib.h>
#include <string.h>

enum { HEIGHT = 8 };

/* Where the value of (row in window, place) of window v is. */
static inline int64_t value_at(const tsr_windows *w, int64_t v, int64_t row, int64_t place)
{
    int64_t nvectors = w->vector[v + 1] - w->vector[v], start = place - place % w->width;
    int64_t length = nvectors - start < w->width ? nvectors - start : w->width;
    return HEIGHT * (w->vector[v] + start) + row * length + (place - start);
}

typedef struct work {
    tsr_me_bcrs *a;
    const tsr_source *in;
    const uint32_t *place;
    double iso;
    uint64_t one; /* iso, rounded */
} work;

static void fill_window(void *context, int64_t v)
{
    const work *w = context;
    const tsr_source *in = w->in;
    tsr_me_bcrs *a = w->a;
    int64_t first, last;
    size_t size = tsr_number_size(in->number), bytes = HEIGHT * size;
    tsr_window_rows(&a->w, v, &first, &last);
    memset((char *)a->value + (size_t)a->w.vector[v] * bytes, 0, (size_t)(a->w.vector[v + 1] - a->w.vector[v]) * bytes);
    for (int64_t row = first; row < last; row++)
        for (int64_t e = in->p[row]; e < in->p[row + 1]; e++)
            tsr_move_value(a->value, value_at(&a->w, v, row - first, w->place[e]), in->x ? in->x : &w->one, in->x ? e : 0, size);
}

static tsr_status fill(void *context, const tsr_source *in, const uint32_t *place, int nthreads)
{
    work *w = context;
    tsr_me_bcrs *a = w->a;
    w->in = in;
    w->place = place;
    a->value = tsr_format_alloc(a->w.nvectors, HEIGHT * tsr_number_size(in->number));
    if (!a->value)
        return TSR_OUT_OF_MEMORY;
    tsr_round_values(&w->one, in->number, &w->iso, TSR_FP64, 1, 1);
    tsr_for_windows(&a->w, nthreads, fill_window, w);
    return TSR_OK;
}

tsr_status tsr_make_me_bcrs(tsr_me_bcrs *out, const tsr_source *in, int width, double iso, int nthreads)
{
    memset(out, 0, sizeof *out);
    if (width != 8 && width != 16)
        return TSR_INVALID_VALUE;
    tsr_status status = tsr_make_format(&out->w, in, HEIGHT, width, nthreads, fill, &(work){.a = out, .iso = iso});
    if (status != TSR_OK)
        tsr_free_me_bcrs(out);
    return status;
}

void tsr_free_me_bcrs(tsr_me_bcrs *a)
{
    tsr_free_windows(&a->w);
    free(a->value);
    memset(a, 0, sizeof *a);
}

size_t tsr_bytes_me_bcrs(const tsr_me_bcrs *a, tsr_number number)
{
    return tsr_bytes_windows(&a->w) + (size_t)a->w.nvectors * HEIGHT * tsr_number_size(number);
}

/* A format and what its values are: zero cannot be seen without. */
typedef struct typed {
    const tsr_me_bcrs *a;
    tsr_number number;
} typed;

static bool is_zero(const typed *t, int64_t k)
{
    switch (t->number) {
    case TSR_NUMBER_FP32: return ((const float *)t->a->value)[k] == 0;
    case TSR_NUMBER_FP64: return ((const double *)t->a->value)[k] == 0;
    default: return (((const uint16_t *)t->a->value)[k] & 0x7fff) == 0;
    }
}

static void walk(const void *format, tsr_visit *visit, void *context)
{
    const typed *t = format;
    const tsr_windows *w = &t->a->w;
    for (int64_t v = 0; v < w->nwindows; v++) {
        int64_t first, last, nvectors = w->vector[v + 1] - w->vector[v];
        tsr_window_rows(w, v, &first, &last);
        for (int64_t row = first; row < last; row++)
            for (int64_t place = 0; place < nvectors; place++)
                if (!is_zero(t, value_at(w, v, row - first, place)))
                    visit(context, row, w->column[w->vector[v] + place], value_at(w, v, row - first, place));
    }
}

tsr_status tsr_expand_me_bcrs(tsr_source *out, const tsr_me_bcrs *a, tsr_number number)
{
    typed t = {a, number};
    return tsr_expand(out, &a->w, walk, &t, a->value, number);
}
