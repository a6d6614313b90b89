/* Values of settings: how each kind is read and written.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "src/runtime/setting.h"

#include <ctype.h>
#include <errno.h>
#include <locale.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

int tsr_setting_find_word(const char *const *words, const char *value, size_t length)
{
    for (int k = 0; words[k]; k++) {
        if (strlen(words[k]) == length && strncasecmp(words[k], value, length) == 0) {
            return k;
        }
    }
    return -1;
}

static bool parse_word(void *field, const tsr_setting *o, const char *value)
{
    int k = tsr_setting_find_word(o->words, value, strlen(value));
    if (k < 0) {
        return false;
    }
    memcpy(field, &(unsigned){(unsigned)k}, sizeof(unsigned));
    return true;
}

static void print_word(char *text, size_t size, const void *field, const tsr_setting *o)
{
    unsigned k;
    memcpy(&k, field, sizeof k);
    snprintf(text, size, "%s", o->words[k]);
}

static bool parse_flags(void *field, const tsr_setting *o, const char *value)
{
    unsigned flags = 0;
    for (const char *s = value; *s;) {
        size_t length = strcspn(s, ", ");
        int k = length ? tsr_setting_find_word(o->words, s, length) : 0;
        if (k < 0) {
            return false;
        }
        flags |= length ? 1u << k : 0;
        s += length + (s[length] != '\0');
    }
    *(unsigned *)field = flags;
    return true;
}

static void print_flags(char *text, size_t size, const void *field, const tsr_setting *o)
{
    unsigned flags = *(const unsigned *)field;
    size_t used = 0;
    *text = '\0';
    for (int k = 0; o->words[k] && used < size; k++) {
        if (flags >> k & 1) {
            used += (size_t)snprintf(text + used, size - used, "%s%s", used ? "," : "", o->words[k]);
        }
    }
}

static bool parse_int(void *field, const tsr_setting *o, const char *value)
{
    char *end;
    errno = 0;
    long number = strtol(value, &end, 10);
    if (!isdigit((unsigned char)*value) || *end || errno || number > o->most) {
        return false;
    }
    *(int *)field = (int)number;
    return true;
}

static void print_int(char *text, size_t size, const void *field, const tsr_setting *o)
{
    (void)o;
    snprintf(text, size, "%d", *(const int *)field);
}

static bool parse_bool(void *field, const tsr_setting *o, const char *value)
{
    int k = tsr_setting_find_word(o->words, value, strlen(value));
    *(bool *)field = k < 0 ? *(bool *)field : k % 2;
    return k >= 0;
}

static void print_bool(char *text, size_t size, const void *field, const tsr_setting *o)
{
    snprintf(text, size, "%s", o->words[*(const bool *)field]);
}

static int size_shift(const char *suffix)
{
    static const char letters[] = "KMGT";
    const char *found = *suffix ? strchr(letters, toupper((unsigned char)*suffix)) : NULL;
    if (*suffix == '\0') {
        return 0;
    }
    return found && suffix[1] == '\0' ? 10 * (int)(found - letters + 1) : -1;
}

static bool parse_size(void *field, const tsr_setting *o, const char *value)
{
    (void)o;
    char *end;
    errno = 0;
    unsigned long long number = strtoull(value, &end, 10);
    int shift = size_shift(end);
    if (!isdigit((unsigned char)*value) || errno || shift < 0 || number > (SIZE_MAX >> shift)) {
        return false;
    }
    *(size_t *)field = (size_t)number << shift;
    return true;
}

static void print_size(char *text, size_t size, const void *field, const tsr_setting *o)
{
    (void)o;
    snprintf(text, size, "%zu", *(const size_t *)field);
}

static bool parse_work(void *field, const tsr_setting *o, const char *value)
{
    (void)o;
    char *end;
    if (strcasecmp(value, "auto") == 0) {
        *(double *)field = -1;
        return true;
    }
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0); /* the program's locale may have a decimal comma */
    double number = c ? strtod_l(value, &end, c) : strtod(value, &end);
    if (c) {
        freelocale(c);
    }
    if (!isdigit((unsigned char)*value) || *end || !(number >= 0 && number <= 1e18)) {
        return false;
    }
    *(double *)field = number;
    return true;
}

static void print_work(char *text, size_t size, const void *field, const tsr_setting *o)
{
    (void)o;
    double work = *(const double *)field;
    snprintf(text, size, work < 0 ? "auto" : "%.0f", work);
}

static bool parse_string(void *field, const tsr_setting *o, const char *value)
{
    size_t length = strlen(value);
    if (length >= (size_t)o->most) {
        return false;
    }
    memcpy(field, value, length + 1);
    return true;
}

static bool parse_name(void *field, const tsr_setting *o, const char *value)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    return strspn(value, letters) == strlen(value) && parse_string(field, o, value);
}

static void print_string(char *text, size_t size, const void *field, const tsr_setting *o)
{
    (void)o;
    snprintf(text, size, "%s", (const char *)field);
}

const tsr_setting_kind tsr_setting_word = {parse_word, print_word};
const tsr_setting_kind tsr_setting_flags = {parse_flags, print_flags};
const tsr_setting_kind tsr_setting_int = {parse_int, print_int};
const tsr_setting_kind tsr_setting_bool = {parse_bool, print_bool};
const tsr_setting_kind tsr_setting_bytes = {parse_size, print_size};
const tsr_setting_kind tsr_setting_work = {parse_work, print_work};
const tsr_setting_kind tsr_setting_string = {parse_string, print_string};
const tsr_setting_kind tsr_setting_name = {parse_name, print_string};
