#pragma once
#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

namespace strata::codegen {

/// The line of a user's tree() that each line of a text comes from; 0: none.
struct TextLines {
    std::vector<uint32_t> lines;

    /// The lines of the text that are new since the last call come from `line`.
    void note(std::string_view text, uint32_t line) {
        lines.insert(lines.end(), static_cast<size_t>(std::ranges::count(text.substr(noted_), '\n')), line);
        noted_ = text.size();
    }

  private:
    size_t noted_ = 0;
};

}  // namespace strata::codegen
