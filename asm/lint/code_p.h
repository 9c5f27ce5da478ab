#pragma once
#include <map>
#include <optional>
#include <vector>

#include "strata/asm/lint/access.h"
#include "strata/asm/object/code_object.h"
#include "strata/core/support/result.h"

namespace strata::lint {

/// Instructions of a segment, decoded where they are asked for. Offsets are bytes in the segment.
class Code {
  public:
    struct Line {
        isa::Inst inst;
        Access access;
    };
    Code(isa::Arch arch, int wave_size, const isa::Segment& text) : arch_(arch), wave_size_(wave_size), text_(text) {}

    bool holds(uint64_t pc) const { return pc % 4 == 0 && pc < text_.bytes.size() && text_.bytes.size() - pc >= 4; }
    Result<const Line*> at(uint64_t pc);
    isa::Arch arch() const { return arch_; }
    int wave_size() const { return wave_size_; }
    const isa::Segment& text() const { return text_; }

  private:
    isa::Arch arch_;
    int wave_size_;
    const isa::Segment& text_;
    std::map<uint64_t, Line> lines_;
};

/// Where control goes from an instruction.
struct Flow {
    bool falls = true;                    ///< to the next one
    bool calls = false;                   ///< and comes back
    std::optional<uint64_t> target = {};  ///< of a branch or call that says where
};
Flow flow_of(const isa::Inst& inst, uint64_t pc);

}  // namespace strata::lint
