// What the row orders on the device share.  SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/convert/convert.cuh"
#include "src/format/order/row_order.h"

namespace tsr_order {

using tsr_convert::blocks_for;

constexpr int threads = 256, warps = threads / 32;

/* Items, and what sorting them by a key needs. */
class Sorter {
  public:
    /* Of up to n items. */
    void want(Arena *arena, int64_t n);
    void from_zero(int64_t count, void *stream); /* the items become 0, 1, ... count - 1 */
    /* By the low bits of key[item], equal keys as they are. */
    tsr_status sort(const uint32_t *key, int bits, void *stream);
    const uint32_t *items() const { return item[at]; }
    tsr_status copy(uint32_t *to, void *stream) const;

  private:
    uint32_t *key_of[2], *item[2];
    char *scratch;
    int64_t n;
    int at;
};

/* Rows of an order dealt to pivots, chunk by chunk. */
tsr_status deal_rows(uint32_t *order, const tsr_source *in, void *stream);

/* Each writes order[nrows], as those of src/format/order/order.h. */
tsr_status label_propagation(uint32_t *order, const tsr_source *in, void *stream);
tsr_status filled_windows(uint32_t *order, const tsr_source *in, void *stream);
tsr_status clusters(uint32_t *order, const tsr_source *in, void *stream);

} // namespace tsr_order
