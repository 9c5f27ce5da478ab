#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "strata/core/dtype/dtype.h"
#include "strata/executable/code.h"
#include "strata/executable/parameter.h"

namespace strata::executable {

inline constexpr uint32_t kNone = ~0u;

/// Who gives an operand its memory, and who takes it.
enum class Role : uint8_t {
    input,      ///< is there before the first step
    workspace,  ///< is filled by a step and gone after the last that reads it
    result,     ///< is filled by a step and stays
};

/// Memory that steps read or fill.
struct Operand {
    DType dtype;
    int64_t elements = 0;
    Role role = Role::workspace;
    uint32_t place = kNone;  ///< in the workspace: operands of one place share its memory, one after the other
    uint32_t heir = kNone;   ///< the operand that a step fills over this one, in the same memory
    bool donated = false;    ///< an input whose memory a result may take
    uint64_t bytes() const { return static_cast<uint64_t>(elements) * static_cast<uint64_t>(dtype.bytes()); }
};

/// A number that a step gives its kernel.
struct Number {
    int place = -1;     ///< among the numbers of the executable; -1: always these bits
    uint64_t bits = 0;  ///< of that number when the graph was compiled
};

struct Step {
    uint32_t device = 0;  ///< index among the devices that the executable runs on
    uint32_t kernel = kNone;
    uint32_t call = kNone;  ///< without a kernel: a user's kernel, by its number among those that each run gives
    std::vector<uint32_t> operands = {};  ///< by slot
    std::vector<Number> numbers = {};     ///< by slot, after the operands
    std::vector<InPlace> in_place = {};   ///< what may be filled over what
    std::vector<uint32_t> freed = {};     ///< places that no later step uses
    uint64_t bytes = 0;                   ///< of its operands
    /// The operand of slot 1 is copied to that of slot 0.
    bool is_copy() const { return kernel == kNone && call == kNone; }
};

struct Kernel {
    std::string name;
    std::shared_ptr<const Code> code = {};  ///< null: it was not asked for
};

/// The origin of an operand in the graph.
struct Origin {
    std::string value;     ///< type and shape: "float32 (64, 1)"
    std::string why = {};  ///< it is stored
};

/// Why there is a step, and what of.
struct Provenance {
    std::string result;                                   ///< types and shapes of what it fills: "float32 (64, 1)"
    std::vector<std::pair<std::string, int>> operations;  ///< with how often each is applied
    uint64_t read = 0, written = 0;                       ///< bytes of memory
    std::string why;                                      ///< its result is stored
};

/// A compiled graph: kernels, the order of their launches, and the memory between them. It knows no device and no
/// graph, and nothing changes it while it runs: threads share one.
struct Executable {
    std::string arch;  ///< "gfx1100"
    uint32_t devices = 1;
    size_t inputs = 0;  ///< the first operands; steps fill the others
    std::vector<Operand> operands;
    size_t numbers = 0;  ///< that each run gives
    std::vector<Kernel> kernels;
    std::vector<Step> steps;                  ///< in order of execution
    std::vector<uint32_t> results;            ///< operands that hold what was asked for, in that order
    uint32_t places = 0;                      ///< of the workspace
    std::vector<std::string> names = {};      ///< by operand; empty: they were not asked for
    std::vector<Origin> origins = {};         ///< by operand; empty: they were not asked for
    std::vector<Provenance> provenance = {};  ///< by step; empty: it was not asked for

    size_t host_bytes() const;  ///< that it takes without its kernels' code, about
};

}  // namespace strata::executable
