// The command line of the GPU benchmarks, and the GPU they need.  SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "kernels/cuda/common/cuda_kernels.h"

// The items of a,b,c.
inline std::vector<std::string> split(const std::string &list)
{
    std::vector<std::string> items;
    std::stringstream text(list);
    for (std::string item; std::getline(text, item, ',');)
        items.push_back(item);
    return items;
}

inline std::vector<int64_t> numbers(const std::string &list)
{
    std::vector<int64_t> values;
    for (const std::string &item : split(list))
        values.push_back(std::atoll(item.c_str()));
    return values;
}

// Options with a value and flags, in any order; of an option given twice the last value counts.  A program names each of its options once,
// then calls finish(), which ends it when an argument is none of them.
class Arguments {
public:
    Arguments(int argc, char **argv) : given(argv + 1, argv + argc), taken(given.size(), false) {}

    // The values of an option, in order.
    std::vector<std::string> all(const char *name)
    {
        std::vector<std::string> values;
        for (size_t k = 0; k < given.size(); k++)
            if (!taken[k] && given[k] == name) {
                if (k + 1 == given.size())
                    fail(given[k] + ": a value is missing");
                taken[k] = taken[k + 1] = true;
                values.push_back(given[k + 1]);
            }
        return values;
    }
    bool flag(const char *name)
    {
        bool found = false;
        for (size_t k = 0; k < given.size(); k++)
            if (!taken[k] && given[k] == name)
                found = taken[k] = true;
        return found;
    }
    template <class T> bool take(const char *name, T *value)
    {
        const std::vector<std::string> values = all(name);
        for (const std::string &text : values)
            set(value, text);
        return !values.empty();
    }
    // A list, for which "all" may be said.
    void take(const char *name, std::vector<std::string> *list, const std::vector<std::string> &every)
    {
        if (take(name, list) && list->size() == 1 && list->front() == "all")
            *list = every;
    }
    // Flags are to be named before.
    void finish() const
    {
        for (size_t k = 0; k < given.size(); k++)
            if (!taken[k])
                fail(given[k] + ": no such option");
    }

private:
    std::vector<std::string> given;
    std::vector<bool> taken;

    [[noreturn]] static void fail(const std::string &what)
    {
        std::fprintf(stderr, "%s\n", what.c_str());
        std::exit(2);
    }
    static void set(std::vector<std::string> *value, const std::string &text) { *value = split(text); }
    static void set(std::vector<int64_t> *value, const std::string &text) { *value = numbers(text); }
    static void set(int *value, const std::string &text) { *value = std::atoi(text.c_str()); }
    static void set(int64_t *value, const std::string &text) { *value = std::atoll(text.c_str()); }
    static void set(double *value, const std::string &text) { *value = std::atof(text.c_str()); }
    static void set(FILE **file, const std::string &path)
    {
        *file = std::fopen(path.c_str(), "a");
        if (!*file)
            fail(path + ": cannot be written");
    }
};

// The first GPU; without one the program ends as a skipped test does.
inline tsr_cuda_device open_gpu()
{
    tsr_cuda_device device;
    if (tsr_cuda_count() == 0 || tsr_cuda_open(0, &device) != TSR_OK) {
        std::fprintf(stderr, "no GPU\n");
        std::exit(77);
    }
    return device;
}
