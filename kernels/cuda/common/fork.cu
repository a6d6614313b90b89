// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/common/fork.cuh"

#include <atomic>

namespace {

/* Of a device; made when first wanted, and kept. */
cudaStream_t side_stream(int ordinal, int number)
{
    constexpr int devices = 64;
    static std::atomic<cudaStream_t> kept[devices][Fork::most];
    if (ordinal < 0 || ordinal >= devices)
        return nullptr;
    std::atomic<cudaStream_t> &place = kept[ordinal][number];
    cudaStream_t there = place.load();
    void *made;
    if (there || tsr_cuda_stream_new(&made) != TSR_OK)
        return there;
    if (place.compare_exchange_strong(there, static_cast<cudaStream_t>(made)))
        return static_cast<cudaStream_t>(made);
    tsr_cuda_stream_free(made);
    return there;
}

/* What comes on `later` from now on begins behind what is on `first`. */
tsr_status let_follow(cudaStream_t first, const cudaStream_t *later, int count)
{
    cudaEvent_t event;
    if (cudaEventCreateWithFlags(&event, cudaEventDisableTiming) != cudaSuccess) {
        cudaGetLastError();
        return TSR_INTERNAL_ERROR;
    }
    bool right = cudaEventRecord(event, first) == cudaSuccess;
    for (int k = 0; k < count && right; k++)
        right = cudaStreamWaitEvent(later[k], event, 0) == cudaSuccess;
    cudaEventDestroy(event);
    if (!right)
        cudaGetLastError();
    return right ? TSR_OK : TSR_INTERNAL_ERROR;
}

} // namespace

Fork::Fork(void *stream, const tsr_cuda_device *device, int beside) : main(stream)
{
    for (int k = 0; k < beside && k < most; k++)
        if ((side[sides] = side_stream(device->ordinal, k)))
            sides++;
    if (sides && let_follow(static_cast<cudaStream_t>(main), side, sides) != TSR_OK)
        sides = 0;
}

void *Fork::next()
{
    int number = turn++ % (sides + 1);
    if (number == 0)
        return main;
    used = used > number ? used : number;
    return side[number - 1];
}

tsr_status Fork::join()
{
    cudaStream_t after = static_cast<cudaStream_t>(main);
    for (int k = 0; k < used; k++)
        if (let_follow(side[k], &after, 1) != TSR_OK)
            status = cudaStreamSynchronize(side[k]) == cudaSuccess ? status : TSR_INTERNAL_ERROR;
    used = 0;
    return status;
}
