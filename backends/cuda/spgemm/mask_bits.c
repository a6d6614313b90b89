/* Packing a bitmap or full mask: an eighth of a byte a place crosses the bus, whatever its values are.
 * SPDX-License-Identifier: Apache-2.0 */
#include "backends/cuda/spgemm/mask_bits.h"

#include <string.h>

#include "backends/cuda/transfer/host_copy.h"

enum { PLACES = 32 }; /* of a word */

typedef struct packing {
    const tsr_view *mask;
    int64_t words;
    bool structural;
} packing;

/* flags[k] &= does the value of place `at` + k count?  Its bits are tested, as everywhere: -0.0 does. */
static void drop_false(uint8_t flags[PLACES], const packing *s, int64_t at, int64_t count)
{
    const tsr_view *m = s->mask;
    const int64_t step = m->iso ? 0 : 1;
    at *= step;
    switch (tsr_type_size(m->type)) {
    case 1:
        for (int64_t k = 0; k < count; k++)
            flags[k] &= ((const uint8_t *)m->x)[at + k * step] != 0;
        break;
    case 2:
        for (int64_t k = 0; k < count; k++)
            flags[k] &= ((const uint16_t *)m->x)[at + k * step] != 0;
        break;
    case 4:
        for (int64_t k = 0; k < count; k++)
            flags[k] &= ((const uint32_t *)m->x)[at + k * step] != 0;
        break;
    default:
        for (int64_t k = 0; k < count; k++)
            flags[k] &= ((const uint64_t *)m->x)[at + k * step] != 0;
    }
}

/* Eight flags of 0 or 1, the first in the lowest bit. */
static uint32_t eight_bits(const uint8_t *flags)
{
    uint64_t bytes;
    memcpy(&bytes, flags, sizeof bytes);
    return (uint32_t)((bytes * 0x0102040810204080u) >> 56);
}

/* Places at + [0, count), count <= PLACES. */
static uint32_t pack(const packing *s, int64_t at, int64_t count)
{
    _Alignas(8) uint8_t flags[PLACES] = {0};
    if (s->mask->format == TSR_BITMAP)
        memcpy(flags, s->mask->b + at, (size_t)count);
    else
        memset(flags, 1, (size_t)count);
    if (!s->structural)
        drop_false(flags, s, at, count);
    return eight_bits(flags) | eight_bits(flags + 8) << 8 | eight_bits(flags + 16) << 16 | eight_bits(flags + 24) << 24;
}

static void fill_words(void *staging, const void *source, int64_t first, int64_t last)
{
    const packing *s = source;
    const int64_t length = s->mask->vlen;
    for (int64_t k = first; k < last; k++) {
        const int64_t row = k / s->words, column = k % s->words * PLACES, left = length - column;
        ((uint32_t *)staging)[k - first] = pack(s, row * s->mask->ld + column, left < PLACES ? left : PLACES);
    }
}

tsr_status tsr_cuda_mask_bits_upload(tsr_cuda_mask_bits *mask, const tsr_view *view, bool structural, int nthreads, int64_t *moved)
{
    const int64_t words = (view->vlen + PLACES - 1) / PLACES;
    const size_t bytes = (size_t)view->nvec * (size_t)words * sizeof *mask->bits;
    *mask = (tsr_cuda_mask_bits){.words = words};
    if (!tsr_cuda_reserve(bytes))
        return TSR_DECLINED;
    mask->bytes = bytes;
    tsr_status status = tsr_cuda_new((void **)&mask->bits, bytes);
    if (status == TSR_OK)
        status = tsr_cuda_after(tsr_cuda->up, tsr_cuda->compute);
    const packing s = {view, words, structural};
    if (status == TSR_OK)
        status = tsr_cuda_host_copy(mask->bits, view->nvec * words, sizeof *mask->bits, fill_words, &s, nthreads, moved);
    return status == TSR_OK ? tsr_cuda_after(tsr_cuda->compute, tsr_cuda->up) : status;
}

void tsr_cuda_mask_bits_free(tsr_cuda_mask_bits *mask)
{
    tsr_cuda_delete(mask->bits);
    tsr_cuda_unreserve(mask->bytes);
    *mask = (tsr_cuda_mask_bits){0};
}
