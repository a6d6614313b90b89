// How finely to split windows, decided from a few numbers: the selector of DTC-SpMM, and wave-aware splitting of cuTeSpMM.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/spmm/tensor.cuh"

namespace {

constexpr int threads = 256;

__global__ void __launch_bounds__(threads) longest_window(const int64_t *block, int64_t nwindows, unsigned long long *longest)
{
    int64_t most = 0;
    const int64_t step = static_cast<int64_t>(gridDim.x) * threads;
    for (int64_t v = static_cast<int64_t>(blockIdx.x) * threads + threadIdx.x; v < nwindows; v += step) {
        int64_t blocks = block[v + 1] - block[v];
        most = blocks > most ? blocks : most;
    }
    for (int step = 16; step > 0; step /= 2) {
        int64_t other = __shfl_xor_sync(~0u, most, step);
        most = other > most ? other : most;
    }
    if (threadIdx.x % 32 == 0)
        atomicMax(longest, static_cast<unsigned long long>(most));
}

/* Warps of 168 registers per multiprocessor: those of the widest tiles. */
constexpr int resident_warps = 12;
/* The start of an item and its partial sum cost about as much as this many blocks. */
constexpr double overhead = 8;

static int64_t bounded(double most, int64_t least)
{
    return most > static_cast<double>(least) ? static_cast<int64_t>(most) : least;
}

} // namespace

extern "C" tsr_status tsr_cuda_longest_window(int64_t *longest, const tsr_windows *w, void *stream)
{
    void *device;
    *longest = 0;
    if (w->nwindows == 0)
        return TSR_OK;
    tsr_status status = tsr_cuda_malloc(&device, sizeof *longest, stream);
    if (status != TSR_OK)
        return status;
    status = tsr_cuda_set(device, 0, sizeof *longest, stream);
    if (status == TSR_OK) {
        int64_t grid = (w->nwindows + threads - 1) / threads;
        TSR_LAUNCH(longest_window, static_cast<unsigned>(grid < 1024 ? grid : 1024), threads, 0, stream, w->block, w->nwindows,
                   static_cast<unsigned long long *>(device));
        status = launch_status();
    }
    if (status == TSR_OK)
        status = tsr_cuda_to_host(longest, device, sizeof *longest, stream);
    if (status == TSR_OK)
        status = tsr_cuda_wait(stream);
    tsr_cuda_free(device, stream);
    return status;
}

/* Section 5 of DTC-SpMM: windows taken in order by whoever is free end at most one window after the ideal, so that their makespan
 * is estimated as ideal + longest, and AR is its ratio to the ideal.  Up to AR = 1.2 windows stay whole (base form), else all
 * items are made short enough for AR = 1.05 (strict balance). */
extern "C" int64_t tsr_cuda_me_tcf_most(const tsr_windows *w, int64_t longest, const tsr_cuda_device *device)
{
    const double ideal = static_cast<double>(w->nblocks) / (device->sms * resident_warps);
    if (static_cast<double>(longest) <= 0.2 * ideal)
        return longest > 0 ? longest : 1;
    return bounded(0.05 * ideal, static_cast<int64_t>(4 * overhead));
}

/* cuTeSpMM: pieces per panel such that items fill whole waves of the device.  A wave lasts as long as its items; whether one more
 * piece per panel pays is seen by trying.  Many waves need no fitting; panels much longer than the mean are cut in any case. */
extern "C" int64_t tsr_cuda_hrpb_most(const tsr_windows *w, int64_t longest, const tsr_cuda_device *device)
{
    const double wave = static_cast<double>(device->sms) * resident_warps * 16 / w->height;
    const double windows = static_cast<double>(w->nwindows);
    if (w->nblocks == 0)
        return 1;
    const double mean = static_cast<double>(w->nblocks) / windows, ideal = static_cast<double>(w->nblocks) / wave;
    double best = 0, best_time = 0;
    for (int pieces = 1; pieces <= 64; pieces++) {
        const double most = ceil(mean / pieces), waves = ceil(windows * pieces / wave), time = waves * (most + overhead / 2);
        if (pieces == 1 || time < best_time) {
            best = most;
            best_time = time;
        }
    }
    /* With many waves a panel may take up to a twentieth of the whole time. */
    if (ideal / 20 > best)
        best = ideal / 20;
    const int64_t most = bounded(best, static_cast<int64_t>(2 * overhead));
    return most < longest || longest < 1 ? most : longest;
}
