/* SpGEMM by tiles of bits, walked as the CUDA kernel does: strips of 128 rows of A and of B', of which the blocks of 256 columns that have an entry are kept;
 * a tile of C for each pair of strips that have a block in common.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "kernels/spgemm.h"
#include "src/base/types.h"

enum { SIDE = 128, DEPTH = 256, WORDS = DEPTH / 64 };

typedef uint64_t tile[SIDE][WORDS];

/* A, or B turned. */
typedef struct strips {
    int64_t count, blocks;
    int64_t *number; /* [count * blocks] of the tile of a block; -1: none */
    tile *tiles;
} strips;

static int64_t pieces(int64_t n, int64_t each)
{
    return (n + each - 1) / each;
}

static int64_t index_at(const tsr_view *v, int64_t e)
{
    return v->index_size == 4 ? (int64_t)((const uint32_t *)v->i)[e] : ((const int64_t *)v->i)[e];
}

/* Calls visit for every entry: its line and its column, of A or of B'. */
static void visit(strips *s, const tsr_view *v, bool turned, void (*each)(strips *, int64_t line, int64_t column))
{
    for (int64_t k = 0; k < v->nvec; k++)
        for (int64_t e = tsr_view_start(v, k); e < tsr_view_start(v, k + 1); e++) {
            const int64_t row = v->format == TSR_HYPERSPARSE ? v->h[k] : k, index = index_at(v, e);
            each(s, turned ? index : row, turned ? row : index);
        }
}

static void mark_block(strips *s, int64_t line, int64_t column)
{
    s->number[line / SIDE * s->blocks + column / DEPTH] = 0;
}

static void set_bit(strips *s, int64_t line, int64_t column)
{
    tile *to = &s->tiles[s->number[line / SIDE * s->blocks + column / DEPTH]];
    (*to)[line % SIDE][column % DEPTH / 64] |= (uint64_t)1 << column % 64;
}

static bool make_strips(strips *s, const tsr_view *v, bool turned)
{
    int64_t tiles = 0;
    *s = (strips){.count = pieces(turned ? v->ncols : v->nrows, SIDE), .blocks = pieces(turned ? v->nrows : v->ncols, DEPTH)};
    const int64_t places = s->count * s->blocks;
    s->number = malloc((size_t)(places + 1) * sizeof *s->number);
    if (!s->number)
        return false;
    memset(s->number, 0xff, (size_t)places * sizeof *s->number);
    visit(s, v, turned, mark_block);
    for (int64_t at = 0; at < places; at++)
        if (s->number[at] == 0)
            s->number[at] = tiles++;
    s->tiles = calloc((size_t)(tiles + 1), sizeof *s->tiles);
    if (s->tiles)
        visit(s, v, turned, set_bit);
    return s->tiles;
}

static void free_strips(strips *s)
{
    free(s->number);
    free(s->tiles);
}

static uint32_t count_common(const uint64_t *a, const uint64_t *b)
{
    int sum = 0;
    for (int w = 0; w < WORDS; w++)
        sum += __builtin_popcountll(a[w] & b[w]);
    return (uint32_t)sum;
}

/* False: the strips have no block in common. */
static bool multiply(uint32_t (*count)[SIDE], const strips *a, const strips *b, int64_t a_strip, int64_t b_strip)
{
    bool any = false;
    memset(count, 0, SIDE * sizeof *count);
    for (int64_t block = 0; block < a->blocks; block++) {
        const int64_t x = a->number[a_strip * a->blocks + block], y = b->number[b_strip * b->blocks + block];
        if (x < 0 || y < 0)
            continue;
        any = true;
        for (int row = 0; row < SIDE; row++)
            for (int column = 0; column < SIDE; column++)
                count[row][column] += count_common(a->tiles[x][row], b->tiles[y][column]);
    }
    return any;
}

/* Entries of C in row `row`, of one tile after the other. */
typedef struct output {
    int64_t at[SIDE];
    uint32_t *i, *count;
} output;

static void put(output *o, uint32_t (*count)[SIDE], int64_t b_strip)
{
    for (int row = 0; row < SIDE; row++)
        for (int column = 0; column < SIDE; column++) {
            if (count[row][column] == 0)
                continue;
            if (o->i) {
                o->i[o->at[row]] = (uint32_t)(b_strip * SIDE + column);
                o->count[o->at[row]] = count[row][column];
            }
            o->at[row]++;
        }
}

/* Rows of a strip of A.  Without i their numbers of entries become known in p, else where they begin is. */
static void compute_strip(const strips *a, const strips *b, int64_t strip, int64_t m, int64_t *p, uint32_t *i, uint32_t *count)
{
    uint32_t tile_of_c[SIDE][SIDE];
    output o = {.i = i, .count = count};
    const int64_t first = strip * SIDE, rows = m - first < SIDE ? m - first : SIDE;
    for (int64_t row = 0; i && row < rows; row++)
        o.at[row] = p[first + row];
    for (int64_t other = 0; other < b->count; other++)
        if (multiply(tile_of_c, a, b, strip, other))
            put(&o, tile_of_c, other);
    for (int64_t row = 0; !i && row < rows; row++)
        p[first + row + 1] = o.at[row];
}

tsr_status tsr_ref_spgemm_tiles(const tsr_spgemm *product, int64_t *p, uint32_t *i, uint32_t *count)
{
    strips a = {0}, b = {0};
    const bool ready = make_strips(&a, &product->a, false) && make_strips(&b, &product->b, true);
    p[0] = 0;
    for (int64_t strip = 0; ready && strip < a.count; strip++)
        compute_strip(&a, &b, strip, product->m, p, NULL, NULL);
    for (int64_t row = 0; ready && row < product->m; row++)
        p[row + 1] += p[row];
    for (int64_t strip = 0; ready && i && strip < a.count; strip++)
        compute_strip(&a, &b, strip, product->m, p, i, count);
    free_strips(&a);
    free_strips(&b);
    return ready ? TSR_OK : TSR_OUT_OF_MEMORY;
}
