/* Reading a model: the file may be anything.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/runtime/model_file.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/runtime/config.h"
#include "src/runtime/warn.h"

enum { MOST_BYTES = 65536 };

/* Bytes read, or -1. */
static ssize_t read_all(int file, char *text, size_t size)
{
    size_t length = 0;
    ssize_t got;
    while (length < size && (got = read(file, text + length, size - length)) != 0) {
        if (got < 0)
            return -1;
        length += (size_t)got;
    }
    return (ssize_t)length;
}

bool tsr_model_read(tsr_model *model, const char *path, const char **why)
{
    static const char cannot[] = "it cannot be read";
    char text[MOST_BYTES + 1];
    struct stat about;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t length = file >= 0 && fstat(file, &about) == 0 && S_ISREG(about.st_mode) ? read_all(file, text, sizeof text) : -1;
    if (file >= 0)
        close(file);
    *why = length < 0 ? cannot : length > MOST_BYTES ? "it is too long" : tsr_model_parse(model, text, (size_t)length);
    return *why == NULL;
}

static tsr_model named;
static bool good;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void)
{
    const char *why, *path = tsr_config_get()->model;
    good = *path && tsr_model_read(&named, path, &why);
    if (*path && !good)
        tsr_warn_once("model", "model %s: %s; the built-in one is used", path, why);
}

const tsr_model *tsr_model_named(void)
{
    pthread_once(&once, load);
    return good ? &named : NULL;
}
