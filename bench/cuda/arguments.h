// Lists on a command line.  SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

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
