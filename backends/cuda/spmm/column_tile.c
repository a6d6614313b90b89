/* One tile: its memory, its places on host and device, its kernels.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "backends/cuda/spmm/multiply.h"
#include "backends/cuda/spmm/column_tiles.h"

enum {
    TILES = 8, /* about so many, so that little of the first and last is left uncovered */
    TURNED = 8, /* columns that are turned at once */
    LINE = 64   /* bytes of a cache line */
};

/* ---- geometry ---- */

/* The first tile is wider by `shift`. */
static int64_t first_column(const tsr_cuda_column_tiles *s, int64_t tile)
{
    return tile > 0 ? tile * s->width + s->shift : 0;
}

static int64_t columns_of(const tsr_cuda_column_tiles *s, int64_t tile)
{
    int64_t end = first_column(s, tile + 1);
    return (end < s->product->n ? end : s->product->n) - first_column(s, tile);
}

static int64_t widest(const tsr_cuda_column_tiles *s)
{
    return columns_of(s, 0);
}

/* Leading dimension on the device. */
static int64_t padded(const tsr_cuda_column_tiles *s, int64_t columns)
{
    return tsr_cuda_padded(s->plan, columns);
}

/* A host array of `rows` rows, of which a tile is a part. */
typedef struct host_array {
    const void *x;
    size_t size;
    int64_t rows, ld;
    bool by_col, iso, direct;
} host_array;

/* One column is the same in both orientations. */
static tsr_cuda_rectangle part_of(const tsr_cuda_column_tiles *s, int64_t tile, host_array h, void *device, void *device_by_col)
{
    int64_t columns = columns_of(s, tile), first = first_column(s, tile) * (h.by_col ? h.ld : 1);
    return (tsr_cuda_rectangle){
        .host = (char *)(intptr_t)h.x + (h.iso ? 0 : (size_t)first * h.size), .host_ld = h.ld, .size = h.size, .iso = h.iso,
        .direct = h.direct, .outer = h.by_col ? columns : h.rows, .inner = h.by_col ? h.rows : columns,
        .device_ld = h.by_col ? h.rows : padded(s, columns), .device = h.by_col && columns > 1 ? device_by_col : device};
}

int tsr_cuda_column_tile_inputs(tsr_cuda_rectangle r[2], const tsr_cuda_column_tiles *s, int64_t tile)
{
    const tsr_view *b = &s->product->b;
    const tsr_cuda_buffer *buffer = &s->buffer[tile % s->nbuffers];
    host_array values = {b->x, s->size, s->product->k, b->ld, b->by_col, b->iso, s->b_direct};
    host_array present = {b->b, 1, s->product->k, b->ld, b->by_col, false, false};
    int count = 0;
    if (s->reads_b)
        r[count++] = part_of(s, tile, values, buffer->b, buffer->b_by_col);
    if (s->b_bitmap)
        r[count++] = part_of(s, tile, present, buffer->b_present, buffer->b_present_by_col);
    return count;
}

int tsr_cuda_column_tile_outputs(tsr_cuda_rectangle r[2], const tsr_cuda_column_tiles *s, int64_t tile)
{
    const tsr_product *p = s->product;
    const tsr_cuda_buffer *buffer = &s->buffer[tile % s->nbuffers];
    int64_t ld = p->c_by_col ? p->m : p->n;
    host_array values = {s->result->x, s->size, p->m, ld, p->c_by_col, false, s->c_direct};
    host_array present = {s->result->b, 1, p->m, ld, p->c_by_col, false, false};
    r[0] = part_of(s, tile, values, buffer->c, buffer->c_by_col);
    if (s->present)
        r[1] = part_of(s, tile, present, buffer->c_present, buffer->c_present_by_col);
    return s->present ? 2 : 1;
}

/* ---- kernels ---- */

static tsr_cuda_multiplication multiplication(const tsr_cuda_column_tiles *s, const tsr_cuda_buffer *buffer, int64_t columns)
{
    return (tsr_cuda_multiplication){
        .a = s->a, .plan = s->plan, .product = s->product, .n = columns, .b = buffer->b, .b_present = buffer->b_present,
        .ldb = padded(s, columns), .c = buffer->c, .c_present = buffer->c_present, .ldc = padded(s, columns), .half = s->half,
        .partial = s->partial, .part = columns < widest(s), .flag = s->flag, .alpha = {1, 0}, .stream = tsr_cuda->compute};
}

static tsr_status multiply(tsr_cuda_column_tiles *s, const tsr_cuda_buffer *buffer, int64_t columns)
{
    tsr_cuda_multiplication m = multiplication(s, buffer, columns);
    return tsr_cuda_multiply_arrays(&m);
}

/* to (columns x rows or the reverse) = from, if there is anything to turn. */
static tsr_status turn(void *to, int64_t to_ld, const void *from, int64_t from_ld, int64_t rows, int64_t columns, size_t size)
{
    return to && from ? tsr_cuda_transpose(to, to_ld, from, from_ld, rows, columns, (int)size, tsr_cuda->compute) : TSR_OK;
}

static tsr_status turn_inputs(const tsr_cuda_column_tiles *s, const tsr_cuda_buffer *b, int64_t columns)
{
    int64_t rows = s->product->k;
    if (columns == 1)
        return TSR_OK;
    tsr_status status = turn(b->b, padded(s, columns), b->b_by_col, rows, columns, rows, s->size);
    return status == TSR_OK ? turn(b->b_present, padded(s, columns), b->b_present_by_col, rows, columns, rows, 1) : status;
}

static tsr_status turn_outputs(const tsr_cuda_column_tiles *s, const tsr_cuda_buffer *b, int64_t columns)
{
    int64_t rows = s->product->m;
    if (columns == 1)
        return TSR_OK;
    tsr_status status = turn(b->c_by_col, rows, b->c, padded(s, columns), rows, columns, s->size);
    return status == TSR_OK ? turn(b->c_present_by_col, rows, b->c_present, padded(s, columns), rows, columns, 1) : status;
}

/* The tile into its place in the value: that of the host's array. */
static tsr_status keep(const tsr_cuda_column_tiles *s, int64_t tile)
{
    tsr_cuda_rectangle r[2];
    const char *const host[] = {s->result->x, (char *)s->result->b};
    char *const kept[] = {s->kept->x, (char *)s->kept->present};
    int count = tsr_cuda_column_tile_outputs(r, s, tile);
    tsr_status status = TSR_OK;
    for (int k = 0; k < count && status == TSR_OK; k++)
        status = tsr_cuda_rows_on_device(kept[k] + (r[k].host - host[k]), (size_t)r[k].host_ld * r[k].size, r[k].device,
                                         (size_t)r[k].device_ld * r[k].size, (size_t)r[k].inner * r[k].size, (size_t)r[k].outer,
                                         tsr_cuda->compute);
    return status;
}

tsr_status tsr_cuda_column_tile_compute(tsr_cuda_column_tiles *s, int64_t tile, void *arrived)
{
    const tsr_cuda_buffer *buffer = &s->buffer[tile % s->nbuffers];
    int64_t columns = columns_of(s, tile);
    tsr_status status = arrived ? tsr_cuda_event_follow(arrived, tsr_cuda->compute) : TSR_OK;
    if (status == TSR_OK)
        status = turn_inputs(s, buffer, columns);
    if (status == TSR_OK)
        status = multiply(s, buffer, columns);
    if (status == TSR_OK)
        status = turn_outputs(s, buffer, columns);
    if (status == TSR_OK)
        status = tsr_cuda_event_record(buffer->done, tsr_cuda->compute);
    return status == TSR_OK && s->kept ? keep(s, tile) : status;
}

/* ---- memory ---- */

/* Bytes of each array of a buffer; 0: not needed. */
typedef struct sizes {
    size_t b, b_by_col, b_present, b_present_by_col, c, c_by_col, c_present, c_present_by_col;
} sizes;

static sizes sizes_of(const tsr_cuda_column_tiles *s)
{
    const tsr_product *p = s->product;
    size_t ld = (size_t)padded(s, widest(s)), columns = (size_t)widest(s), k = (size_t)p->k, m = (size_t)p->m;
    bool b_turned = p->b.by_col && columns > 1, c_turned = p->c_by_col && columns > 1;
    size_t b = s->reads_b ? s->size : 0, b_present = s->b_bitmap, c_present = s->present;
    return (sizes){
        .b = k * ld * b, .b_by_col = b_turned ? k * columns * b : 0,
        .b_present = k * ld * b_present, .b_present_by_col = b_turned ? k * columns * b_present : 0,
        .c = m * ld * s->size, .c_by_col = c_turned ? m * columns * s->size : 0,
        .c_present = m * ld * c_present, .c_present_by_col = c_turned ? m * columns * c_present : 0,
    };
}

static size_t buffer_bytes(const tsr_cuda_column_tiles *s)
{
    sizes z = sizes_of(s);
    return z.b + z.b_by_col + z.b_present + z.b_present_by_col + z.c + z.c_by_col + z.c_present + z.c_present_by_col + 8 * 512;
}

/* Of the widest tile. */
static tsr_cuda_multiplication widest_multiplication(const tsr_cuda_column_tiles *s)
{
    tsr_cuda_buffer none = {.b_present = s->b_bitmap ? (void *)"" : NULL}; /* only whether there is one matters */
    return multiplication(s, &none, widest(s));
}

static size_t half_bytes(const tsr_cuda_column_tiles *s)
{
    tsr_cuda_multiplication m = widest_multiplication(s);
    return tsr_cuda_half_bytes(&m);
}

static size_t partial_bytes(const tsr_cuda_column_tiles *s)
{
    tsr_cuda_multiplication m = widest_multiplication(s);
    return tsr_cuda_scratch_bytes(&m);
}

static size_t all_bytes(const tsr_cuda_column_tiles *s)
{
    return (size_t)s->nbuffers * buffer_bytes(s) + half_bytes(s) + partial_bytes(s) + 3 * 512;
}

/* Columns by which the first tile must be wider so that in the others rows of C (and B, which mostly lies alike) start at
 * cache lines: a line that two tiles share is fetched twice. */
static int64_t aligning_shift(const tsr_cuda_column_tiles *s)
{
    const tsr_product *p = s->product;
    size_t size = s->size, off = (uintptr_t)s->result->x % LINE;
    if (p->c_by_col || off % size || (size_t)p->n * size % LINE || (size_t)s->width * size % LINE)
        return 0;
    return off ? (int64_t)((LINE - off) / size) : 0;
}

static void set_width(tsr_cuda_column_tiles *s, int64_t width)
{
    s->width = width < s->product->n ? width : s->product->n;
    s->shift = s->width < s->product->n ? aligning_shift(s) : 0;
    s->ntiles = (s->product->n - s->shift + s->width - 1) / s->width;
}

/* Rows of a tile are long enough for the host's memory, but there are two tiles where they can be of half that. */
static int64_t staged_row(int64_t whole)
{
    int64_t most = tsr_cuda_all.row, row = whole / 2;
    return row > most ? most : row < most / 2 ? most / 2 : row;
}

/* Where the device copies by itself.  Narrow tiles leave less of the first and last copy uncovered, but the bus is slower with
 * short rows, and with parts of cache lines; measured: docs/transfers.md. */
static int64_t direct_row(int64_t whole)
{
    int64_t most = tsr_cuda_all.direct_row, row = (whole / 4 + LINE - 1) / LINE * LINE;
    return row > most ? most : row < most / 2 ? most / 2 : row;
}

/* Held by column B and C have no rows that could be too short. */
static int64_t preferred_row(const tsr_cuda_column_tiles *s)
{
    const tsr_product *p = s->product;
    int64_t size = (int64_t)s->size, whole = p->n * size;
    if (p->c_by_col && (p->b.by_col || !s->reads_b))
        return TURNED * size;
    return s->c_direct && (s->b_direct || !s->reads_b) ? direct_row(whole) : staged_row(whole);
}

static int64_t preferred_width(const tsr_cuda_column_tiles *s)
{
    const tsr_product *p = s->product;
    int64_t size = (int64_t)s->size, column = (p->k > p->m ? p->k : p->m) * size, row = preferred_row(s);
    int64_t width = (p->n + TILES - 1) / TILES, least = tsr_cuda_all.tile / column + 1, step = row > size ? row / size : 1;
    width = width > least ? width : least;
    return (width + step - 1) / step * step;
}

/* Narrower until it fits, first with one buffer instead of two. */
static bool fit(tsr_cuda_column_tiles *s)
{
    set_width(s, preferred_width(s));
    s->nbuffers = s->ntiles > 1 ? TSR_CUDA_BUFFERS : 1;
    while (s->bytes = all_bytes(s), !tsr_cuda_reserve(s->bytes)) {
        if (s->width == 1 && s->nbuffers == 1) {
            s->bytes = 0;
            return false;
        }
        if (s->nbuffers > 1)
            s->nbuffers = 1;
        else
            set_width(s, s->width / 2);
    }
    return true;
}

static tsr_status allocate_if(void **p, size_t bytes, tsr_status before)
{
    return before == TSR_OK && bytes ? tsr_cuda_new(p, bytes) : before;
}

static tsr_status allocate_buffer(tsr_cuda_buffer *b, const sizes *z)
{
    tsr_status status = allocate_if(&b->b, z->b, TSR_OK);
    status = allocate_if(&b->b_by_col, z->b_by_col, status);
    status = allocate_if(&b->b_present, z->b_present, status);
    status = allocate_if(&b->b_present_by_col, z->b_present_by_col, status);
    status = allocate_if(&b->c, z->c, status);
    status = allocate_if(&b->c_by_col, z->c_by_col, status);
    status = allocate_if(&b->c_present, z->c_present, status);
    status = allocate_if(&b->c_present_by_col, z->c_present_by_col, status);
    return status == TSR_OK ? tsr_cuda_event_new(&b->done) : status;
}

static tsr_status allocate(tsr_cuda_column_tiles *s)
{
    sizes z = sizes_of(s);
    tsr_status status = TSR_OK;
    for (int k = 0; k < s->nbuffers && status == TSR_OK; k++)
        status = allocate_buffer(&s->buffer[k], &z);
    status = allocate_if(&s->half, half_bytes(s), status);
    status = allocate_if(&s->partial, partial_bytes(s), status);
    status = allocate_if((void **)&s->flag, s->plan->blocks ? 2 * sizeof *s->flag : 0, status);
    return status == TSR_OK ? tsr_cuda_after(tsr_cuda->up, tsr_cuda->compute) : status;
}

tsr_status tsr_cuda_column_tiles_open(tsr_cuda_column_tiles *s, tsr_cuda_sparse *a, tsr_cuda_plan *plan, const tsr_product *p,
                                tsr_result *result)
{
    *s = (tsr_cuda_column_tiles){.product = p, .result = result, .a = a, .plan = plan, .size = tsr_type_size(p->semiring.type)};
    s->reads_b = tsr_reads_b(p);
    s->b_bitmap = p->b.format == TSR_BITMAP;
    s->present = s->b_bitmap && result->b;
    const tsr_view *b = &p->b;
    s->b_direct = s->reads_b && !b->iso && tsr_cuda_may_copy_direct(b->x, b->nvec, b->vlen, b->ld, s->size);
    int64_t vectors = p->c_by_col ? p->n : p->m, length = p->c_by_col ? p->m : p->n;
    s->c_direct = tsr_cuda_may_copy_direct(result->x, vectors, length, length, s->size);
    return fit(s) ? allocate(s) : TSR_DECLINED;
}

static void free_buffer(tsr_cuda_buffer *b)
{
    void *const arrays[] = {b->b, b->b_by_col, b->b_present, b->b_present_by_col,
                            b->c, b->c_by_col, b->c_present, b->c_present_by_col};
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++)
        tsr_cuda_delete(arrays[k]);
    tsr_cuda_event_free(b->done);
}

void tsr_cuda_column_tiles_close(tsr_cuda_column_tiles *s)
{
    for (int k = 0; k < TSR_CUDA_BUFFERS; k++)
        free_buffer(&s->buffer[k]);
    tsr_cuda_delete(s->half);
    tsr_cuda_delete(s->partial);
    tsr_cuda_delete(s->flag);
    tsr_cuda_unreserve(s->bytes);
}
