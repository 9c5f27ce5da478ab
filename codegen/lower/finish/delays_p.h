#pragma once
#include <vector>

#include "strata/asm/lint/access.h"

// The results that are not there yet, as insert_delays knows them.
namespace strata::codegen {

/// The kinds that s_delay_alu distinguishes. Results of vector and transcendental instructions are counted by
/// instructions of the kind since, those of scalar ones by clocks.
enum class DelayKind : uint8_t { vector, transcendental, scalar, other };

/// How far a result is. Of several paths the worst of each kind.
struct Delay {
    static constexpr uint8_t kVectors = 5, kTranscendentals = 4, kScalarClocks = 4;  ///< one more than the maximum
    uint8_t vector_clocks = 0, vectors = kVectors;                                   ///< until it is there; from it on
    uint8_t trans_clocks = 0, trans = kTranscendentals, vectors_since_trans = kVectors;
    uint8_t scalar_clocks = 0;

    static Delay of(DelayKind kind, int clocks);
    void join(const Delay& other);
    bool pass(DelayKind kind, int clocks);  ///< an instruction is issued; false: nothing is left to wait for
    /// The immediate of s_delay_alu: one delay, or two from bit 7 on; 0 for none (RDNA3 ISA 16.5, "S_DELAY_ALU").
    int immediate() const;
    bool operator==(const Delay&) const = default;
};

/// The results at a place of the code.
class Delays {
  public:
    /// The delay that an instruction needs, after which the results are there.
    Delay take(const lint::Registers& registers);
    void leave(const lint::Registers& registers, DelayKind kind, int clocks);
    void pass(DelayKind kind, int clocks);
    /// A scalar instruction has waited for scalar registers that vector ones write: those up to the last are there.
    void scalars_are_there();
    void settle() { results_.clear(); }
    bool join(const Delays& other);  ///< whether anything was new

  private:
    struct Result {
        uint16_t reg = 0;
        Delay delay;
    };
    std::vector<Result> results_;
    int last_scalar_ = -1;  ///< that a vector instruction wrote
};

}  // namespace strata::codegen
