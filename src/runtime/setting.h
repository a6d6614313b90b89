/* Values of settings.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_SETTING_H
#define TSR_SETTING_H

#include <stdbool.h>
#include <stddef.h>

struct tsr_setting;

typedef struct tsr_setting_kind {
    bool (*parse)(void *field, const struct tsr_setting *setting, const char *value); /* false: not one of its values */
    void (*print)(char *text, size_t size, const void *field, const struct tsr_setting *setting);
} tsr_setting_kind;

typedef struct tsr_setting {
    const char *name;
    size_t offset; /* of its field in the configuration */
    const tsr_setting_kind *kind;
    const char *allowed;      /* for messages */
    const char *const *words; /* enumerations: names in order; flags: names of bits in order */
    long most;                /* numbers: largest; strings: size of the field */
} tsr_setting;

/* By the type of the field: unsigned, two times; int; bool; size_t; double (-1: auto); char [], two times, a name of letters, digits, - and _. */
extern const tsr_setting_kind tsr_setting_word, tsr_setting_flags, tsr_setting_int, tsr_setting_bool, tsr_setting_bytes, tsr_setting_work,
    tsr_setting_string, tsr_setting_name;

/* Which of the words a value is, whatever its case; -1: none. */
int tsr_setting_find_word(const char *const *words, const char *value, size_t length);

#endif
