#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "strata/codegen/optimize/action.h"
#include "strata/runtime/device.h"

namespace strata::runtime {

/// The cases that a search's result serves: equal keys have equal schedules to choose from, of equal times.
struct SearchKey {
    std::string arch;       ///< "gfx1100"
    std::string target;     ///< "hip", "asm"
    std::string compiler;   ///< of that target, with its version
    std::string model;      ///< of the card: "7900xtx (emulated)"
    std::string rules;      ///< hash of what a search tries and how it judges
    std::string structure;  ///< hash of the kernel
    bool operator==(const SearchKey&) const = default;
    std::string text() const;  ///< under which it is on disk
};
/// The runner of a device's code: its model, and its driver's version where it has one. For keys of caches.
std::string model_of(const Device& device);
SearchKey search_key(const Device& device, const codegen::Kernel& kernel);
SearchKey search_key(const Device& device, std::string structure);  ///< hash of it

/// A tuning record: what a search found.
struct TuningRecord {
    std::string kernel;    ///< its name
    std::string schedule;  ///< actions as text
    double heuristic_ms = 0, best_ms = 0;
    int beam = 0;  ///< width of the search; 0: nobody says, it counts as wide
    int candidates = 0, rejected = 0;
    double seconds = 0;
    std::string stopped = {};  ///< why it ended before it had tried all: "search_seconds", ...; else empty

    std::string to_text() const;
    static TuningRecord of_text(std::string_view text);
};

/// The record on disk, in no_cache none.
std::optional<TuningRecord> find_record(const SearchKey& key);
void keep_record(const SearchKey& key, const TuningRecord& record);

/// Keeps a record of another machine or time. Empty, or why it is of no use here.
std::string import_record(const SearchKey& key, const TuningRecord& record);

/// Both change when a record takes the place of another or comes from elsewhere: launch plans of before are out of
/// date.
uint64_t records_generation();  ///< of this process
std::string records_state();    ///< on disk

/// Text that says which kernels can share records across machines: the version of a target's compiler.
std::string compiler_version(const codegen::Target& target);

}  // namespace strata::runtime
