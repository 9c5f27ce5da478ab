#pragma once
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

// The timing model's account of one launch: LaunchConfig::profiled.
namespace strata::emu {

/// A row of bounds.def.
enum class Bound : uint8_t {
#define BOUND(name, text) name,
#include "strata/asm/emu/bounds.def"
#undef BOUND
};
inline constexpr std::string_view kBounds[] = {
#define BOUND(name, text) text,
#include "strata/asm/emu/bounds.def"
#undef BOUND
};
/// A row of limits.def.
enum class Limit : uint8_t {
#define LIMIT(name, text) name,
#include "strata/asm/emu/limits.def"
#undef LIMIT
};
inline constexpr std::string_view kLimits[] = {
#define LIMIT(name, text) text,
#include "strata/asm/emu/limits.def"
#undef LIMIT
};
constexpr std::string_view name(Bound bound) { return kBounds[static_cast<size_t>(bound)]; }
constexpr std::string_view name(Limit limit) { return kLimits[static_cast<size_t>(limit)]; }

/// Modelled cycles of a launch: what each bound alone would take, and all of them together.
struct Estimate {
    std::array<double, std::size(kBounds)> parts{};
    double cycles = 0;
    double l2_bytes = 0, llc_bytes = 0, dram_bytes = 0;  ///< moved from and to L2; what of it went on from there

    bool operator==(const Estimate&) const = default;
    double& of(Bound bound) { return parts[static_cast<size_t>(bound)]; }
    double of(Bound bound) const { return parts[static_cast<size_t>(bound)]; }
    Bound bound() const;
};

/// How many waves a SIMD holds at once, and why not more.
struct Residency {
    uint64_t groups_at_once = 0;                         ///< on the whole card
    double waves_per_simd = 0, most_waves_per_simd = 0;  ///< most: what a SIMD has slots for
    Limit limit = Limit::none;
    bool operator==(const Residency&) const = default;
};

/// One instruction in the workgroups that were measured. Cycles are of single waves, with the GPU to themselves.
struct InstructionProfile {
    static constexpr uint64_t kNobody = ~0ull;
    bool operator==(const InstructionProfile&) const = default;
    uint64_t pc = 0;  ///< byte offset in the code
    uint64_t runs = 0;
    double stalled = 0;             ///< cycles that waves stood before it
    uint64_t waited_for = kNobody;  ///< pc of what they stood longest for
    double lines = 0;               ///< of 128 bytes, that its accesses touched
    double conflicts = 0;           ///< cycles of LDS beyond those without bank conflicts
};

/// When a wave of the first measured workgroup ran, in cycles since that began.
struct WaveSpan {
    struct Stall {
        double from = 0, to = 0;
        uint64_t pc = 0;  ///< what could not issue
        bool operator==(const Stall&) const = default;
    };
    bool operator==(const WaveSpan&) const = default;
    double end = 0;
    std::vector<Stall> stalls;  ///< the first of the longer ones
};

struct LaunchProfile {
    std::string_view model;  ///< "7900xtx"
    double mhz = 0;
    Estimate estimate;
    Residency residency;
    uint64_t groups = 0, measured = 0;             ///< workgroups; those that the rest was measured in
    uint32_t waves = 0, lds = 0;                   ///< of a workgroup
    double least_bytes = 0;                        ///< different bytes that the launch reads, and those it writes
    double local_cycles = 0, local_conflicts = 0;  ///< of a workgroup: LDS is busy; for bank conflicts alone
    std::vector<InstructionProfile> instructions;  ///< by pc
    std::vector<WaveSpan> waves_of_first;
    bool operator==(const LaunchProfile&) const = default;
};

}  // namespace strata::emu
