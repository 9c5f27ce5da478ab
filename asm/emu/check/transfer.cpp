#include "strata/asm/emu/check/transfer.h"

#include <unordered_map>

namespace strata::emu {

Transfer transfer_of(std::string_view handler) {
    static const std::unordered_map<std::string_view, Transfer> rows = {
#define TRANSFER(name, result) \
    {#name,                    \
     []([[maybe_unused]] Known a, [[maybe_unused]] Known b, [[maybe_unused]] Known c) -> Known { return result; }},
#include "strata/asm/emu/check/transfers.def"
#undef TRANSFER
    };
    const auto row = rows.find(handler);
    return row == rows.end() ? nullptr : row->second;
}

}  // namespace strata::emu
