/* A table of 64-bit keys, each at the place that it names; a later one takes the place of an earlier one.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "src/runtime/past_runs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SLOTS = 4096, MOST_BYTES = 4096 }; /* of the table, and of the arguments that count */

static uint64_t key; /* 0: there is none */
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* ---- the command ---- */

/* FNV-1a */
static uint64_t mix(uint64_t hash, const void *data, size_t bytes)
{
    const unsigned char *c = data;
    for (size_t k = 0; k < bytes; k++)
        hash = (hash ^ c[k]) * 0x100000001B3u;
    return hash;
}

static ssize_t read_arguments(char *text, size_t size)
{
    const int file = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    const ssize_t length = file >= 0 ? read(file, text, size) : -1;
    if (file >= 0)
        close(file);
    return length;
}

/* A program that was built again is another one. */
static void find_key(void)
{
    char arguments[MOST_BYTES], folder[PATH_MAX];
    struct stat program;
    const ssize_t length = read_arguments(arguments, sizeof arguments);
    if (length <= 0 || stat("/proc/self/exe", &program) != 0 || !getcwd(folder, sizeof folder))
        return;
    const uint64_t file[] = {program.st_dev, program.st_ino, (uint64_t)program.st_mtim.tv_sec, (uint64_t)program.st_mtim.tv_nsec};
    uint64_t hash = mix(0xCBF29CE484222325u, file, sizeof file);
    hash = mix(hash, arguments, (size_t)length);
    key = mix(hash, folder, strlen(folder) + 1) | 2;
}

static off_t place(void)
{
    return (off_t)(key / 4 % SLOTS * sizeof key);
}

/* ---- the table ---- */

static bool join(char *path, size_t size, const char *folder, const char *more)
{
    const int n = snprintf(path, size, "%s%s", folder, more);
    return n > 0 && (size_t)n < size;
}

/* The folder that caches are in: XDG Base Directory Specification. */
static bool find_folder(char *path, size_t size)
{
    const char *cache = secure_getenv("XDG_CACHE_HOME"), *user = secure_getenv("HOME");
    if (cache && *cache == '/')
        return join(path, size, cache, "");
    return user && *user == '/' && join(path, size, user, "/.cache");
}

static bool is_ours(int file)
{
    struct stat about;
    return fstat(file, &about) == 0 && S_ISREG(about.st_mode) && about.st_uid == geteuid();
}

static bool make_folder(const char *path)
{
    return mkdir(path, 0700) == 0 || errno == EEXIST;
}

/* flags: O_RDONLY, or O_RDWR with or without O_CREAT, which makes the two folders too, as the specification has it.  -1: there is none. */
static int open_table(int flags)
{
    char cache[PATH_MAX], folder[PATH_MAX], path[PATH_MAX];
    if (!find_folder(cache, sizeof cache) || !join(folder, sizeof folder, cache, "/tessera") || !join(path, sizeof path, folder, "/starts"))
        return -1;
    if (flags & O_CREAT && !(make_folder(cache) && make_folder(folder)))
        return -1;
    const int file = open(path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    if (file >= 0 && !is_ours(file)) {
        close(file);
        return -1;
    }
    return file;
}

/* The lowest bit of a key says whether loops stayed. */
static tsr_past_runs read_word(int file)
{
    uint64_t found = 0;
    const bool ours = pread(file, &found, sizeof found, place()) == sizeof found && (found | 1) == (key | 1);
    return !ours ? TSR_PAST_UNKNOWN : found & 1 ? TSR_PAST_STAYED : TSR_PAST_GAINED;
}

tsr_past_runs tsr_past_runs_known(void)
{
    pthread_once(&once, find_key);
    const int file = key ? open_table(O_RDONLY) : -1;
    const tsr_past_runs known = file >= 0 ? read_word(file) : TSR_PAST_UNKNOWN;
    if (file >= 0)
        close(file);
    return known;
}

/* What another process writes at the same time is another command, or the same word. */
void tsr_past_runs_keep(tsr_past_runs known)
{
    const int error = errno;
    pthread_once(&once, find_key);
    const int file = key ? open_table(known ? O_RDWR | O_CREAT : O_RDWR) : -1;
    const uint64_t word = known == TSR_PAST_UNKNOWN ? 0 : known == TSR_PAST_STAYED ? key | 1 : key & ~UINT64_C(1);
    if (file >= 0 && (known || read_word(file)))
        (void)!pwrite(file, &word, sizeof word, place());
    if (file >= 0)
        close(file);
    errno = error;
}
