// Device memory for several arrays at once.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/common/cuda_kernels.h"

/* Arrays that live together: one allocation. */
class Arena {
  public:
    explicit Arena(void *queue) : stream(queue) {}
    ~Arena() { tsr_cuda_free(base, stream); }
    Arena(const Arena &) = delete;
    Arena &operator=(const Arena &) = delete;

    template <class T> void want(T **p, int64_t n)
    {
        places[count] = {reinterpret_cast<void **>(p), bytes};
        count++;
        bytes += (static_cast<size_t>(n > 0 ? n : 1) * sizeof(T) + 255) / 256 * 256;
    }
    tsr_status get()
    {
        tsr_status status = tsr_cuda_malloc(&base, bytes, stream);
        for (int k = 0; k < count && status == TSR_OK; k++)
            *places[k].p = static_cast<char *>(base) + places[k].at;
        return status;
    }
    size_t size() const { return bytes; }
    /* The arrays outlive the arena: the caller frees what this returns. */
    void *keep()
    {
        void *kept = base;
        base = nullptr;
        return kept;
    }

  private:
    struct place {
        void **p;
        size_t at;
    };
    void *stream, *base = nullptr;
    size_t bytes = 0;
    int count = 0;
    place places[16];
};
