#include <algorithm>
#include <iterator>
#include <string_view>

#include "strata/codegen/toolchain/options.h"
#include "strata/core/support/settings.h"

namespace strata::codegen {
namespace {

using Row = OptionRow;
using Takes = OptionRow::Takes;

constexpr Row kRows[] = {
#define OPTION(spelling, takes) {spelling, Takes::takes},
#define LLVM_OPTION(name)
#include "strata/codegen/toolchain/options.def"
#undef LLVM_OPTION
#undef OPTION
};
constexpr std::string_view kLlvmOptions[] = {
#define OPTION(spelling, takes)
#define LLVM_OPTION(name) name,
#include "strata/codegen/toolchain/options.def"
#undef LLVM_OPTION
#undef OPTION
};

/// The driver takes a word "@file" for the words in that file, wherever it stands; a line break would end a #define.
bool is_trick(std::string_view word) {
    return word.starts_with('@') || word.find_first_of(std::string_view("\n\0", 2)) != word.npos;
}

/// "-fno-x" of "-fx".
bool is_negation(std::string_view word, std::string_view spelling) {
    return word.starts_with(spelling.substr(0, 2)) && word.substr(2).starts_with("no-") &&
           word.substr(5) == spelling.substr(2);
}

/// How many words a row takes of those from `word` on; 0: it is not about them.
size_t words_of(const Row& row, const std::string& word, const std::string* next) {
    switch (row.takes) {
        case Takes::nothing: return word == row.spelling;
        case Takes::on_off: return word == row.spelling || is_negation(word, row.spelling);
        // After a comma stand words for the preprocessor, assembler or linker: -Wp,-MD,file
        case Takes::joined:
            return word.size() > row.spelling.size() && word.starts_with(row.spelling) && word.find(',') == word.npos;
        case Takes::value:
        case Takes::path:
            if (word == row.spelling) return next ? 2 : 0;
            return row.spelling.size() == 2 && word.starts_with(row.spelling);
        case Takes::llvm: break;
    }
    if (word != row.spelling || !next) return 0;
    std::string_view name = std::string_view(*next).substr(std::min(next->find_first_not_of('-'), next->size()));
    name = name.substr(0, name.find('='));
    return std::find(std::begin(kLlvmOptions), std::end(kLlvmOptions), name) != std::end(kLlvmOptions) ? 2 : 0;
}

/// The first option without a row, or null; calls visit(row) for each that has one.
template <class Visit>
const std::string* first_unlisted(const std::vector<std::string>& options, Visit visit) {
    for (size_t i = 0; i < options.size();) {
        const std::string* next = i + 1 < options.size() ? &options[i + 1] : nullptr;
        auto row = std::find_if(std::begin(kRows), std::end(kRows),
                                [&](const Row& row) { return words_of(row, options[i], next) > 0; });
        if (row == std::end(kRows)) return &options[i];
        size_t end = i + words_of(*row, options[i], next);
        for (; i < end; ++i)
            if (is_trick(options[i])) return &options[i];
        visit(*row);
    }
    return nullptr;
}

const std::string* first_unlisted(const std::vector<std::string>& options) {
    return first_unlisted(options, [](const Row&) {});
}

}  // namespace

std::span<const OptionRow> option_rows() { return kRows; }
std::span<const std::string_view> llvm_options() { return kLlvmOptions; }

bool are_listed(const std::vector<std::string>& options) { return !first_unlisted(options); }

Result<void> check_options(const std::vector<std::string>& options) {
    const std::string* unlisted = first_unlisted(options);
    if (!unlisted || settings().unsafe_options) return {};
    const size_t at = static_cast<size_t>(unlisted - options.data());
    std::string shown =
        *unlisted == "-mllvm" && at + 1 < options.size() ? *unlisted + " " + options[at + 1] : *unlisted;
    return make_error(ErrorKind::Usage,
                      "compiler option '{}' is not among those that only say what code to make (options.def), so it "
                      "could run programs or touch files. If you trust it: strata.config(unsafe_options=True), or "
                      "STRATA_UNSAFE_OPTIONS=1; nothing is cached then",
                      shown);
}

bool may_read_files(const std::vector<std::string>& options) {
    bool reads = false;
    first_unlisted(options, [&](const Row& row) { reads |= row.takes == Takes::path; });
    return reads;
}

}  // namespace strata::codegen
