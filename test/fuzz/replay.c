/* A fuzz target without libFuzzer: every file of a corpus, then mutations of them with a fixed seed for some seconds.
 * Usage: replay FOLDER [SECONDS [SEED]].  A crash names the last input by writing it to crash-input.
 * SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "test/fuzz/fuzz.h"

enum { MOST_INPUTS = 512, MOST_BYTES = 1 << 16, MOST_STEPS = 200000 };

typedef struct input {
    uint8_t *data;
    size_t size;
} input;

static input corpus[MOST_INPUTS];
static int inputs;
static uint8_t work[MOST_BYTES];
static size_t work_size;
static uint64_t seed = 1;

static uint64_t next(void)
{
    seed += UINT64_C(0x9E3779B97F4A7C15);
    uint64_t z = (seed ^ (seed >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

static size_t below(size_t n)
{
    return n ? (size_t)(next() % n) : 0;
}

static void crashed(int number)
{
    FILE *file = fopen("crash-input", "w");
    if (file) {
        fwrite(work, 1, work_size, file);
        fclose(file);
    }
    signal(number, SIG_DFL);
    raise(number);
}

static void load(const char *path)
{
    FILE *file = fopen(path, "r");
    if (!file || inputs == MOST_INPUTS) {
        exit(2);
    }
    input *in = &corpus[inputs++];
    in->data = malloc(MOST_BYTES);
    in->size = in->data ? fread(in->data, 1, MOST_BYTES, file) : 0;
    fclose(file);
}

static void load_folder(const char *folder)
{
    struct dirent **names;
    int count = scandir(folder, &names, NULL, alphasort); /* the same order everywhere */
    for (int k = 0; k < count; k++) {
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%s/%s", folder, names[k]->d_name);
        if (names[k]->d_name[0] != '.') {
            load(path);
        }
        free(names[k]);
    }
    if (count >= 0) {
        free(names);
    }
}

/* ---- mutations of work[] ---- */

static void insert(const void *bytes, size_t n)
{
    size_t at = below(work_size + 1);
    if (work_size + n <= MOST_BYTES) {
        memmove(work + at + n, work + at, work_size - at);
        memcpy(work + at, bytes, n);
        work_size += n;
    }
}

static void insert_token(void)
{
    static const char *const tokens[] = {"\n", " ", "0", "1", "-1", "99999999999999999999", "9223372036854775807",
                                         "4294967296",
                                         "1e308", "nan", "inf", "0x1p9", "%", ";", "#", "[", "]", "=", ":", "\t",
                                             "\r\n", "1K",
                                         "1T", "symmetric", "skew-symmetric", "array", "pattern", "integer", "tessera",
                                             "mode",
                                         "off", "\xEF\xBB\xBF", ",", "1e-400", "."};
    const char *token = tokens[below(sizeof tokens / sizeof tokens[0])];
    insert(token, strlen(token));
}

static void erase(void)
{
    size_t at = below(work_size), n = 1 + below(8);
    n = n < work_size - at ? n : work_size - at;
    memmove(work + at, work + at + n, work_size - at - n);
    work_size -= n;
}

static void splice(void)
{
    const input *other = &corpus[below((size_t)inputs)];
    size_t from = below(other->size), n = below(other->size - from + 1);
    insert(other->data + from, n);
}

static void repeat_block(void)
{
    uint8_t block[64];
    size_t at = below(work_size), n = 1 + below(sizeof block - 1);
    n = n < work_size - at ? n : work_size - at;
    memcpy(block, work + at, n);
    for (size_t times = 1 + below(100); times > 0; times--) {
        insert(block, n);
    }
}

static void mutate(void)
{
    switch (below(7)) {
    case 0: work_size ? (void)(work[below(work_size)] = (uint8_t)next()) : (void)0; break;
    case 1: work_size ? (void)(work[below(work_size)] ^= (uint8_t)(1u << below(8))) : (void)0; break;
    case 2: insert_token(); break;
    case 3: erase(); break;
    case 4: splice(); break;
    case 5: work_size = below(work_size + 1); break;
    default: repeat_block(); break;
    }
}

static void run_corpus(void)
{
    for (int k = 0; k < inputs; k++) {
        work_size = corpus[k].size;
        memcpy(work, corpus[k].data, work_size);
        LLVMFuzzerTestOneInput(work, work_size);
    }
}

static long run_mutations(double seconds)
{
    struct timespec start, now;
    long steps = 0;
    clock_gettime(CLOCK_MONOTONIC, &start);
    do {
        const input *from = &corpus[below((size_t)inputs)];
        work_size = from->size;
        memcpy(work, from->data, work_size);
        for (size_t n = 1 + below(6); n > 0; n--) {
            mutate();
        }
        LLVMFuzzerTestOneInput(work, work_size);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (++steps < MOST_STEPS &&
             (double)(now.tv_sec - start.tv_sec) + 1e-9 * (double)(now.tv_nsec - start.tv_nsec) < seconds);
    return steps;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        return 2;
    }
    seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
    signal(SIGSEGV, crashed);
    signal(SIGABRT, crashed);
    load_folder(argv[1]);
    if (inputs == 0) {
        fprintf(stderr, "no inputs in %s\n", argv[1]);
        return 2;
    }
    run_corpus();
    printf("%d inputs, %ld mutations\n", inputs, run_mutations(argc > 2 ? atof(argv[2]) : 2));
    for (int k = 0; k < inputs; k++) {
        free(corpus[k].data);
    }
    return 0;
}
