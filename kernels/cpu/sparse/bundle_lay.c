/* Vectors are laid side by side: a tile of places of each is read in their order, then dealt out.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "kernels/cpu/sparse/bundle.h"
#include "src/base/types.h"

tsr_bundle_lays TSR_NAME(tsr_bundle_lay);

enum { FEW = TSR_BUNDLE_FEW, MANY = TSR_PULL_MOST, TILE = 64 };

#define ALWAYS static inline __attribute__((always_inline))

ALWAYS void mark_present(uint8_t *restrict present, const int8_t *restrict b, int64_t r, int64_t count)
{
    for (int64_t t = 0; t < count; t++)
        present[t] |= (uint8_t)((b[t] != 0) << r);
}

/* step: -1, or 0 where one value stands for all; b NULL: all are present. */
#define LAY(bits)                                                                                                                \
    ALWAYS void read_##bits(uint##bits##_t *restrict tile, const uint##bits##_t *restrict x, const int64_t step, const int8_t *restrict b, \
                            uint##bits##_t none, int64_t count)                                                                  \
    {                                                                                                                            \
        for (int64_t t = 0; t < count; t++) {                                                                                    \
            const uint##bits##_t y = x[t & step];                                                                                \
            tile[t] = !b || b[t] ? y : none;                                                                                     \
        }                                                                                                                        \
    }                                                                                                                            \
    ALWAYS void lay_tile_##bits(const tsr_bundle *w, uint##bits##_t none, int64_t k, int64_t count, const int64_t lanes)         \
    {                                                                                                                            \
        const tsr_view *v = &w->p->u;                                                                                            \
        uint##bits##_t tile[MANY][TILE], *restrict u = (uint##bits##_t *)w->u + k * lanes;                                       \
        memset(w->present + k, v->b ? 0 : (1 << v->nvec) - 1, (size_t)count);                                                    \
        for (int64_t r = 0; r < lanes; r++) {                                                                                    \
            const int64_t at = r * v->ld + k;                                                                                    \
            const uint##bits##_t *x = (const uint##bits##_t *)v->x + (v->iso ? 0 : at);                                          \
            const int8_t *b = v->b ? v->b + at : NULL;                                                                           \
            if (r >= v->nvec) {                                                                                                  \
                read_##bits(tile[r], &none, 0, NULL, none, count);                                                               \
                continue;                                                                                                        \
            }                                                                                                                    \
            if (v->iso)                                                                                                          \
                read_##bits(tile[r], x, 0, b, none, count);                                                                      \
            else                                                                                                                 \
                read_##bits(tile[r], x, -1, b, none, count);                                                                     \
            if (b)                                                                                                               \
                mark_present(w->present + k, b, r, count);                                                                       \
        }                                                                                                                        \
        for (int64_t t = 0; t < count; t++)                                                                                      \
            for (int64_t r = 0; r < lanes; r++)                                                                                  \
                u[t * lanes + r] = tile[r][t];                                                                                   \
    }                                                                                                                            \
    static void lay_##bits(const tsr_bundle *w, uint##bits##_t none, int64_t first, int64_t last)                                \
    {                                                                                                                            \
        for (int64_t k = first; k < last; k += TILE) {                                                                           \
            const int64_t count = last - k < TILE ? last - k : TILE;                                                             \
            if (w->lanes == FEW)                                                                                                 \
                lay_tile_##bits(w, none, k, count, FEW);                                                                         \
            else                                                                                                                 \
                lay_tile_##bits(w, none, k, count, MANY);                                                                        \
        }                                                                                                                        \
    }
LAY(8)
LAY(16)
LAY(32)
LAY(64)

void TSR_NAME(tsr_bundle_lay)(const tsr_bundle *w, uint64_t none, int64_t first, int64_t last)
{
    switch (tsr_type_size(w->p->semiring.type)) {
    case 1: lay_8(w, (uint8_t)none, first, last); break;
    case 2: lay_16(w, (uint16_t)none, first, last); break;
    case 4: lay_32(w, (uint32_t)none, first, last); break;
    default: lay_64(w, none, first, last);
    }
}
