/* The GPU plug-in: found, loaded and asked once.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "src/runtime/backends.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/loaded.h"
#include "src/base/openmp.h"
#include "src/runtime/config.h"
#include "src/runtime/local_rank.h"
#include "src/runtime/model_file.h"
#include "src/runtime/paths.h"
#include "src/runtime/trace.h"
#include "src/runtime/warn.h"

static const tsr_backend *gpu;
static pid_t loader; /* a device does not survive a fork */
static atomic_bool off, asked;
static atomic_bool beside; /* loaded while the program goes on */
static atomic_bool ending; /* … which is at its end */
static bool installed; /* by find_installed */
static pthread_once_t once = PTHREAD_ONCE_INIT, installed_once = PTHREAD_ONCE_INIT;
static char *commands_library;

/* dlsym gives an object pointer where a function pointer is meant. */
typedef union symbol {
    void *address;
    tsr_backend_init_fn init;
    tsr_backend_score_fn score;
    tsr_backend_kernel_fn kernel;
} symbol;

static symbol rows; /* of its table of kernels, by find_rows */
static pthread_once_t rows_once = PTHREAD_ONCE_INIT;

/* The local ranks share the devices in turn.  A plug-in scores those that are there. */
static int local_device(tsr_backend_score_fn score, tsr_backend_options options)
{
    const int rank = tsr_local_rank_get().rank;
    int count = 0;
    for (options.device = 0; options.device <= rank && score(&options) > 0; options.device++) {
        count++;
    }
    return count ? rank % count : 0;
}

static const tsr_backend *ask(void *plugin, const char *path)
{
    symbol init = {dlsym(plugin, "tsr_backend_init")}, score = {dlsym(plugin, "tsr_backend_score")};
    if (!init.address || !score.address) {
        tsr_warn_once("plug-in", "%s is not a backend; not used", path);
        return NULL;
    }
    const tsr_config *config = tsr_config_get();
    tsr_backend_options options = {.device = config->device, .device_memory = config->device_memory,
                                         .timed = tsr_trace_wanted(), .beside = atomic_load(&beside),
                                         .openmp = tsr_openmp_shared(), .model = tsr_model_named()};
    if (config->device == TSR_DEVICE_LOCAL) {
        options.device = local_device(score.score, options);
    }
    if (score.score(&options) <= 0 || atomic_load(&ending)) { /* by then the driver has been loaded, half of a start */
        return NULL;
    }
    const tsr_backend *backend = init.init(&options);
    if (backend && backend->api_version != TSR_BACKEND_API_VERSION) {
        tsr_warn_once("plug-in", "%s has interface %d, not %d; not used", path, backend->api_version,
                      TSR_BACKEND_API_VERSION);
        return NULL;
    }
    return backend;
}

static bool try_folder(char *path, size_t size, const char *folder, const char *relative)
{
    int n = snprintf(path, size, "%s/%slibtessera_cuda.so", folder, relative);
    return n < (int)size && access(path, F_OK) == 0;
}

/* The folder `tessera` beside a library, wherever the installed tree was moved to. */
static bool try_beside(char *path, size_t size, const char *library)
{
    char file[PATH_MAX];
    if (!library || !realpath(library, file)) {
        return false;
    }
    *strrchr(file, '/') = '\0';
    return try_folder(path, size, file, "tessera/");
}

/* The file that this code is in: the library, a replacement, the command. */
static const char *own_file(void)
{
    tsr_loaded own;
    return tsr_loaded_find(&own, (void *)(uintptr_t)tsr_backend_gpu) ? own.file : NULL;
}

/* SECURITY.md names these places. */
static bool find_plugin(char *path, size_t size)
{
    const char *folder = secure_getenv("TESSERA_PLUGIN_DIR");
    if (folder && *folder == '/') {
        return try_folder(path, size, folder, "");
    }
    return try_beside(path, size, own_file()) || try_beside(path, size, commands_library) ||
           try_folder(path, size, TSR_PLUGIN_DIR, "");
}

void tsr_backend_search_beside(const char *library)
{
    free(commands_library);
    commands_library = strdup(library);
}

/* NULL: there is none. */
static void *open_plugin(char *path, size_t size)
{
    if (!find_plugin(path, size))
        return NULL;
    void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!plugin) {
        const char *why = dlerror();
        tsr_warn_once("plug-in", "cannot load %s: %s", path, why ? why : "unknown error");
    }
    return plugin;
}

static void load_plugin(void)
{
    char path[PATH_MAX];
    void *plugin = open_plugin(path, sizeof path);
    if (!plugin)
        return;
    if (atomic_load(&beside))
        atexit(tsr_backend_gpu_end_start); /* before the handlers that came with it */
    gpu = ask(plugin, path);
    loader = getpid();
}

static void find_rows(void)
{
    char path[PATH_MAX];
    void *plugin = open_plugin(path, sizeof path);
    rows.address = plugin ? dlsym(plugin, "tsr_backend_kernel") : NULL;
}

bool tsr_backend_gpu_kernel(int k, tsr_kernel_row *row)
{
    pthread_once(&rows_once, find_rows);
    return rows.address && rows.kernel(k, row);
}

/* ---- a driver that the program has loaded ---- */

static struct {
    atomic_bool known, loaded; /* known: ours may have come since */
} driver;

static bool has_driver(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (library)
        dlclose(library);
    return library;
}

static void find_driver(void)
{
    if (atomic_load(&driver.known))
        return;
    atomic_store(&driver.loaded, has_driver());
    atomic_store(&driver.known, true);
}

bool tsr_backend_gpu_in_use(void)
{
    return atomic_load(&driver.known) ? atomic_load(&driver.loaded) : has_driver();
}

static void load(void)
{
    find_driver();
    load_plugin();
    if (!gpu && tsr_config_get()->mode == TSR_MODE_GPU) {
        tsr_warn_once("no gpu", "mode is gpu, but there is no GPU that can be used; products are computed elsewhere");
    }
}

const tsr_backend *tsr_backend_gpu(void)
{
    pthread_once(&once, load);
    atomic_store_explicit(&asked, true, memory_order_relaxed);
    return gpu && !atomic_load_explicit(&off, memory_order_relaxed) && getpid() == loader ? gpu : NULL;
}

bool tsr_backend_gpu_asked(void)
{
    return atomic_load_explicit(&asked, memory_order_relaxed);
}

static void find_installed(void)
{
    char path[PATH_MAX];
    installed = find_plugin(path, sizeof path);
}

bool tsr_backend_gpu_installed(void)
{
    pthread_once(&installed_once, find_installed);
    return installed;
}

bool tsr_backend_gpu_unasked(void)
{
    return !tsr_backend_gpu_asked() && tsr_backend_gpu_installed();
}

/* ---- started beside the program ---- */

static pthread_t starter;
static pid_t starter_of; /* a forked child has none */

static struct {
    void (*before)(void), (*after)(void);
} around;

void tsr_backend_around_start(void (*before)(void), void (*after)(void))
{
    around.before = before;
    around.after = after;
}

static void call_if_set(void (*function)(void))
{
    if (function)
        function();
}

static void *start(void *unused)
{
    (void)unused;
    atomic_store(&beside, true);
    tsr_backend_gpu();
    call_if_set(around.after);
    return NULL;
}

void tsr_backend_gpu_await_start(void)
{
    static atomic_bool awaited;
    if (getpid() == starter_of && !atomic_exchange(&awaited, true))
        pthread_join(starter, NULL);
}

/* A driver that is being loaded does not survive what exit does. */
void tsr_backend_gpu_end_start(void)
{
    atomic_store(&ending, true);
    tsr_backend_gpu_await_start();
}

/* Of glibc: calls when the thread ends, and at exit before all handlers, also those that a plug-in or the driver registers later than we do.
 * May be missing elsewhere. */
extern int __cxa_thread_atexit_impl(void (*function)(void *), void *argument, void *library) __attribute__((weak));
extern void *__dso_handle __attribute__((visibility("hidden")));

static void end_before_handlers(void *unused)
{
    (void)unused;
    tsr_backend_gpu_end_start();
}

/* A thread that is not the main one seldom calls exit, and must not wait when it ends; then a handler has to do. */
static void await_at_exit(void)
{
    atexit(tsr_backend_gpu_end_start);
    if (__cxa_thread_atexit_impl && gettid() == getpid())
        __cxa_thread_atexit_impl(end_before_handlers, NULL, &__dso_handle);
}

/* It takes none of the program's signals. */
static bool run_beside(void)
{
    sigset_t all, before;
    sigfillset(&all);
    if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0)
        return false;
    const bool runs = pthread_create(&starter, NULL, start, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return runs;
}

static void start_once(void)
{
    if (!tsr_backend_gpu_installed()) {
        tsr_backend_gpu();
        return;
    }
    find_driver();
    call_if_set(around.before);
    starter_of = getpid();
    if (!run_beside()) {
        starter_of = 0;
        start(NULL);
        return;
    }
    await_at_exit();
}

void tsr_backend_gpu_start(void)
{
    static pthread_once_t start_control = PTHREAD_ONCE_INIT;
    if (!tsr_backend_gpu_asked())
        pthread_once(&start_control, start_once);
}

void tsr_backend_gpu_off(void)
{
    if (!atomic_exchange(&off, true))
        tsr_warn_once("gpu", "the GPU failed and is not used any more");
}
