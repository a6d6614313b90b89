/* Configuration: system file, user file, TESSERA_CONFIG, environment, API, in that order; the last one wins.
 * A wrong value or an unknown name is named on stderr once and ignored.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CONFIG_H
#define TSR_CONFIG_H

#include "tessera/backend.h"

/* auto: the router decides. cpu: the same without a GPU.  gpu: every product above min_work that it supports goes there.
 * off: everything is forwarded. */
typedef enum tsr_mode { TSR_MODE_AUTO, TSR_MODE_CPU, TSR_MODE_GPU, TSR_MODE_OFF } tsr_mode;

/* Bits of tsr_config.disabled: GraphBLAS calls, kinds of product, what stays with a backend (TESSERA_DISABLE=mxm,sddmm,…). */
enum {
    TSR_DISABLE_MXM = 1, TSR_DISABLE_MXV = 2, TSR_DISABLE_VXM = 4,
    TSR_DISABLE_SPMM = 8, TSR_DISABLE_SPMV = 16, TSR_DISABLE_SDDMM = 32, TSR_DISABLE_MASKED_DOT = 64,
    TSR_DISABLE_ELEMENTWISE = 128, TSR_DISABLE_RESIDENCY = 256,
    TSR_DISABLE_SPGEMM = 512,
    TSR_DISABLE_EARLY_START = 1024,
    TSR_DISABLE_ALL = 2 * TSR_DISABLE_EARLY_START - 1
};

#define TSR_DEVICE_LOCAL (-1) /* TESSERA_DEVICE=local: that of the local rank, src/runtime/local_rank.h; threads are divided too */

typedef struct tsr_config {
    tsr_mode mode;           /* TESSERA_MODE */
    unsigned disabled;       /* TESSERA_DISABLE */
    double min_work;         /* TESSERA_MIN_WORK: multiply-adds, forwarded below; < 0: the router's own */
    int device;              /* TESSERA_DEVICE */
    size_t device_memory;    /* TESSERA_DEVICE_MEMORY: bytes (suffix K, M, G), 0 = no cap of ours */
    tsr_precision precision; /* TESSERA_PRECISION */
    tsr_reorder reorder;     /* TESSERA_REORDER */
    int verbose;             /* TESSERA_VERBOSE: 1 = one summary at exit, 2 = a line per product */
    bool savings;            /* TESSERA_SAVINGS=1: one line at exit, what was saved */
    bool check;              /* TESSERA_CHECK=1: test mode, fingerprints operands (docs/testing.md) */
    bool eager;              /* TESSERA_EAGER=1: test mode, every usable representation is built at once */
    bool defer;              /* TESSERA_DEFER=1: test mode, products run when an operand is next touched */
    bool check_pointers;     /* TESSERA_CHECK_POINTERS=1: the native door asks the driver where arrays are */
    char kernel[32];         /* TESSERA_KERNEL: "" = the router chooses */
    char trace[4096];        /* TESSERA_TRACE, %p = process id */
    char model[4096];        /* TESSERA_MODEL */
} tsr_config;

extern const tsr_config *tsr_config_now; /* NULL: not loaded yet */
const tsr_config *tsr_config_load(void);

/* Loaded at the first call, thread-safe; afterwards one load.  Never null; what it points to never changes (setting an
 * option publishes another one). */
static inline const tsr_config *tsr_config_get(void)
{
    const tsr_config *config = __atomic_load_n(&tsr_config_now, __ATOMIC_ACQUIRE);
    return __builtin_expect(!config, 0) ? tsr_config_load() : config;
}

/* Test mode: the CPU kernels compute whatever they support, be it slower (mode = cpu and min_work = 0). */
bool tsr_config_forces_cpu(void);

/* Set one option by its lower-case name ("mode", "min_work", …) as the environment would.  TSR_INVALID_VALUE: unknown
 * name or wrong value, nothing changed. */
tsr_status tsr_config_set(const char *name, const char *value);

/* Parse one configuration text (an INI file's bytes) into *config; returns the number of lines that were wrong.
 * `source` names it in messages; messages go to stderr unless quiet.  For the fuzzer and the loader. */
int tsr_config_parse(tsr_config *config, const char *text, size_t length, const char *source, bool quiet);

/* For a program that will not go on with a wrong configuration: how many wrong values and unknown names were met.
 * Called before anything else, the messages do not say "ignored". */
int tsr_config_wrong(void);

/* The values before any layer. */
void tsr_config_defaults(tsr_config *config);

/* The configuration in force, option by option: for `tessera info`. */
typedef struct tsr_config_row {
    const char *name;    /* "min_work" */
    const char *layer;   /* "default", "system file", "user file", "TESSERA_CONFIG", "environment", "API" */
    const char *allowed; /* values, for people */
    char value[4096];    /* as it would be written; "" = unset */
} tsr_config_row;

/* False: index is past the last option. */
bool tsr_config_describe(int index, tsr_config_row *row);

#endif
