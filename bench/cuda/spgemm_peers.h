// cuSPARSE's SpGEMM.  SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

// CSR on the device with 32-bit offsets, as cuSPARSE takes it; x is FP32 or FP64.
struct PeerMatrix {
    int64_t nrows, ncols, nvals;
    int32_t *p, *i;
    void *x;
};

// Device memory that peers take, all of it from the pool of the default stream.
struct PeerMemory {
    size_t now = 0, most = 0;
};

const std::vector<std::string> &peer_algorithms(); // ALG1, ALG2, ALG3, and reuse (numeric only)

// One product A B; C is freed by peer_free.  false: it failed.
bool peer_multiply(PeerMatrix *c, const std::string &algorithm, const PeerMatrix &a, const PeerMatrix &b, bool fp64, PeerMemory *memory);
void peer_free(PeerMatrix *c, PeerMemory *memory);
// Median milliseconds of the numeric step of reuse, its pattern known; negative: it failed.  At most about budget_ms.
double peer_reuse_ms(const PeerMatrix &a, const PeerMatrix &b, bool fp64, double budget_ms, PeerMemory *memory);
