#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace strata::lint {

/// A row of findings.def.
enum class Kind : uint8_t {
#define FINDING(kind) kind,
#include "strata/asm/lint/findings.def"
#undef FINDING
};
std::string name(Kind kind);  ///< "missing-wait"

/// Who was seen doing it, when code ran.
struct Witness {
    std::array<uint32_t, 3> group{};
    uint32_t wave = 0;
    uint64_t lanes = 0;                    ///< those concerned; 0: the whole wave
    std::optional<uint64_t> address = {};  ///< of memory, of the first lane
};

/// One thing that is wrong with a piece of code. Offsets are bytes in its text.
struct Finding {
    Kind kind{};
    uint64_t pc = 0;
    std::string what = {};                 ///< "v3 is read while global_load_b32 may still fill it"
    std::string fix = {};                  ///< "s_waitcnt vmcnt(0) before this"
    std::optional<uint64_t> earlier = {};  ///< the instruction that it conflicts with
    std::optional<Witness> witness = {};   ///< the first one
    uint64_t count = 1;
};

/// Findings as they are made: of those of one kind at one instruction the first is kept, with how often it was made.
class Findings {
  public:
    void add(Finding finding);
    void add(const Findings& others);
    bool empty() const { return found_.empty(); }
    uint64_t made() const { return made_; }  ///< of any kind, repeated ones too
    /// True if one of that kind at that instruction is known: it is counted, and its words need not be made again.
    bool again(Kind kind, uint64_t pc);
    /// Who is seen in the findings to come that name nobody; nullptr: nobody.
    void witness(const Witness* witness) { witness_ = witness; }
    std::vector<Finding> sorted() const;  ///< by instruction, then by kind

  private:
    std::map<std::pair<uint64_t, Kind>, Finding> found_;
    uint64_t made_ = 0;
    const Witness* witness_ = nullptr;
};

}  // namespace strata::lint
