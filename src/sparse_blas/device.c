/* Device memory of the native door: whose it is, and what is copied from it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/runtime/backends.h"
#include "src/runtime/config.h"
#include "src/sparse_blas/native.h"
#include "tessera/device.h"

const tsr_backend *tsr_native_find_device(void)
{
    const tsr_mode mode = tsr_config_get()->mode;
    const bool allowed = mode == TSR_MODE_AUTO || mode == TSR_MODE_GPU;
    const tsr_backend *gpu = allowed ? tsr_backend_gpu() : NULL;
    if (gpu && gpu->device) {
        return gpu;
    }
    if (allowed) {
        tsr_native_fail(TSR_NOT_SUPPORTED, "an array is in device memory, but there is no GPU that can be used");
    } else {
        tsr_native_fail(TSR_NOT_SUPPORTED, "an array is in device memory, but mode is %s", mode == TSR_MODE_CPU ? "cpu" : "off");
    }
    return NULL;
}

tsr_status tsr_native_download(void *host, const void *device, size_t bytes)
{
    const tsr_backend *gpu = tsr_native_find_device();
    if (!gpu) {
        return TSR_NOT_SUPPORTED;
    }
    const tsr_device_copy copy = {.device = (void *)(uintptr_t)device, .host = host, .device_pitch = bytes, .host_pitch = bytes,
                                  .width = bytes, .height = 1};
    tsr_status status = gpu->device->wait();
    if (status == TSR_OK) {
        status = gpu->device->copy(&copy);
    }
    return status == TSR_OK ? status : tsr_native_fail(TSR_INTERNAL_ERROR, "the device failed to copy %zu bytes from %p", bytes, device);
}

tsr_status tsr_native_check_pointer(const char *name, const void *p, tsr_memory_space memory)
{
    const tsr_backend *gpu = tsr_config_get()->check_pointers && p ? tsr_native_find_device() : NULL;
    if (!gpu || gpu->device->owns(p) == (memory == TSR_MEMORY_DEVICE)) {
        return TSR_OK;
    }
    return tsr_native_fail(TSR_INVALID_VALUE, "%s = %p is not in %s memory, as it says", name, p,
                           memory == TSR_MEMORY_DEVICE ? "device" : "host");
}
