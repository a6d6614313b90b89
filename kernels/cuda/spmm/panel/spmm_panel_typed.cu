// SpMM over panels: semirings other than plus_times of floating point.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/spmm/panel/spmm_panel.cuh"

namespace {

/* The product, then partial sums joined. */
template <class P> tsr_status run(const panel_job &j, const tsr_windows &w, const tsr_work &work)
{
    constexpr int columns = 16 / static_cast<int>(sizeof(typename P::sum));
    tsr_status status = panel::launch_shape<P, columns, columns>(j, w);
    if (status != TSR_OK || work.nsplit == 0)
        return status;
    const int64_t blocks = (w.height * j.p.n + panel::merge_threads - 1) / panel::merge_threads;
    dim3 grid(static_cast<unsigned>(blocks), static_cast<unsigned>(work.nsplit < 65535 ? work.nsplit : 65535));
    auto kernel = panel::merge_partials<P>;
    TSR_LAUNCH(kernel, grid, panel::merge_threads, 0, j.p.stream, work.split_window, work.split_partial, work.nsplit, w.height, j);
    return launch_status();
}

/* MIN and MAX over PLUS (SECOND: of zeros) and TIMES. */
template <class T> tsr_status run_extreme(tsr_semiring s, const panel_job &j, const tsr_windows &w, const tsr_work &work)
{
    const bool greatest = s.add == TSR_ADD_MAX;
    if ((s.add != TSR_ADD_MIN && !greatest) || (s.mul != TSR_MUL_PLUS && s.mul != TSR_MUL_SECOND && s.mul != TSR_MUL_TIMES))
        return TSR_DECLINED;
    if (s.mul == TSR_MUL_TIMES)
        return greatest ? run<extreme<T, true, true>>(j, w, work) : run<extreme<T, false, true>>(j, w, work);
    return greatest ? run<extreme<T, true, false>>(j, w, work) : run<extreme<T, false, false>>(j, w, work);
}

/* Of integers; of floating point: tsr_cuda_spmm_panel. */
tsr_status run_plus_times(tsr_type type, const panel_job &j, const tsr_windows &w, const tsr_work &work)
{
    switch (type) {
    case TSR_INT32:
    case TSR_UINT32: return run<plus_times<uint32_t>>(j, w, work);
    case TSR_INT64:
    case TSR_UINT64: return run<plus_times<uint64_t>>(j, w, work);
    default: return TSR_DECLINED;
    }
}

} // namespace

tsr_status tsr_panel_typed(tsr_semiring s, const panel_job &j, const tsr_windows &w, const tsr_work &work)
{
    if (s.add == TSR_ADD_PLUS)
        return s.mul == TSR_MUL_TIMES || s.mul == TSR_MUL_SECOND ? run_plus_times(s.type, j, w, work) : TSR_DECLINED;
    switch (s.type) {
    case TSR_INT32: return run_extreme<int32_t>(s, j, w, work);
    case TSR_UINT32: return run_extreme<uint32_t>(s, j, w, work);
    case TSR_INT64: return run_extreme<int64_t>(s, j, w, work);
    case TSR_UINT64: return run_extreme<uint64_t>(s, j, w, work);
    case TSR_FP32: return run_extreme<float>(s, j, w, work);
    case TSR_FP64: return run_extreme<double>(s, j, w, work);
    default: return TSR_DECLINED;
    }
}
