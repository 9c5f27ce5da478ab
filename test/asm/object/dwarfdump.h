#pragma once
#include <map>

#include "host_tools.h"

namespace strata::test {

/// The line table as llvm-dwarfdump lists it: address -> "line:column", or "none"; the last of equal addresses wins.
inline std::map<uint64_t, std::string> dwarfdump_lines(const Bytes& object) {
    TemporaryFolder folder;
    write_file(folder.file("k.co"), object);
    std::string text = run("llvm-dwarfdump-19 --debug-line " + folder.file("k.co")).output;
    EXPECT_EQ(text.find("warning"), text.npos) << text;
    std::map<uint64_t, std::string> rows;
    for (size_t at = text.find("\n0x"); at != text.npos; at = text.find("\n0x", at + 1)) {
        unsigned long long address = 0;
        unsigned line = 0, column = 0, file = 0;
        char rest[128] = "";
        if (sscanf(text.c_str() + at + 1, "0x%llx %u %u %u%127[^\n]", &address, &line, &column, &file, rest) < 4)
            continue;
        bool end = std::string_view(rest).find("end_sequence") != std::string_view::npos;
        rows[address] = end || line == 0 ? "none" : std::to_string(line) + ":" + std::to_string(column);
    }
    return rows;
}

}  // namespace strata::test
