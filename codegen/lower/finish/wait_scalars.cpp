// wait_scalars: RDNA4 may give a scalar register's old value to an instruction where vector instructions have read it
// before it was written (LLVM's VALUReadSGPRHazard, AMDGPUWaitSGPRHazards). s_wait_alu waits until the write is done.
// Before:  v_add_f32 v0, s4, v0; s_mov_b32 s4, s5; v_add_f32 v1, s4, v1
// After:   v_add_f32 v0, s4, v0; s_mov_b32 s4, s5; s_wait_alu depctr_sa_sdst(0); v_add_f32 v1, s4, v1
#include <bitset>

#include "strata/codegen/lower/finish/dataflow_p.h"
#include "strata/codegen/machine/passes.h"

namespace strata::codegen {
namespace {

using isa::Format;

/// Scalar registers by number: all but M0, EXEC and NULL.
struct State {
    std::bitset<64> read;                   ///< pairs that some vector instruction has read
    std::bitset<128> by_scalar, by_vector;  ///< written since, and not known to be done

    bool join(const State& other) {
        const State before = *this;
        read |= other.read;
        by_scalar |= other.by_scalar;
        by_vector |= other.by_vector;
        return read != before.read || by_scalar != before.by_scalar || by_vector != before.by_vector;
    }
};

// Fields of s_wait_alu that are to be 0: sa_sdst, va_vcc, va_sdst (LLVM's DepCtr).
constexpr uint32_t kScalarDone = 0x1, kVccDone = 0x2, kVectorDone = 0xe00;

bool is_vcc(uint32_t reg) { return (reg | 1) == isa::code::vcc_hi; }

class ScalarWaitInserter {
  public:
    explicit ScalarWaitInserter(MachineFunction& function) : function_(function), accesses_(accesses_of(function)) {}

    void run() {
        insert_by_flow(function_, State(),
                       [&](uint32_t block, const auto& state, auto& added) { return walk(block, state, added); });
    }

  private:
    State walk(uint32_t block, State state, std::vector<Insertion>& added) const {
        const std::vector<Instruction>& code = function_.blocks[block].code;
        for (size_t i = 0; i < code.size(); ++i) {
            const isa::Inst& inst = code[i].inst;
            const isa::FormatUnit unit = isa::kFormats[static_cast<size_t>(inst.row->format)].unit;
            if (inst.row->format == Format::SMEM || isa::is_buffer(inst.row->format)) {
                state.by_scalar.reset();
                state.by_vector.reset();
            }
            if (unit != isa::FormatUnit::vector && unit != isa::FormatUnit::scalar) continue;
            const bool vector = unit == isa::FormatUnit::vector;
            const lint::Access& access = accesses_[block][i];
            const uint32_t done = reads(access, vector, state);
            if (done & kScalarDone) state.by_scalar.reset();
            if (done & kVectorDone) keep_vcc(state.by_vector);
            if (done & kVccDone) state.by_vector[isa::code::vcc_lo] = state.by_vector[isa::code::vcc_hi] = false;
            if (done)
                added.push_back(
                    {i, immediate(function_, "s_wait_alu", static_cast<int16_t>(0xffff & ~done), code[i].origin)});
            for (const lint::Write& write : access.all_writes())
                each(write.registers, [&](uint32_t reg) {
                    if (state.read[reg / 2]) (vector ? state.by_vector : state.by_scalar).set(reg);
                });
        }
        return state;
    }

    static void keep_vcc(std::bitset<128>& registers) {
        const bool low = registers[isa::code::vcc_lo], high = registers[isa::code::vcc_hi];
        registers.reset();
        registers[isa::code::vcc_lo] = low;
        registers[isa::code::vcc_hi] = high;
    }

    template <class F>
    static void each(const lint::Registers& registers, F f) {
        for (uint32_t reg = registers.first; reg < uint32_t{registers.first} + registers.count; ++reg)
            if (reg < isa::code::null) f(reg);
    }

    /// The fields that an instruction must wait for. A scalar one waits for what vector ones write by itself.
    static uint32_t reads(const lint::Access& access, bool vector, State& state) {
        uint32_t done = 0;
        for (const lint::Read& read : access.all_reads())
            each(read.registers, [&](uint32_t reg) {
                if (vector && !state.read[reg / 2]) {
                    state.read.set(reg / 2);
                    return;
                }
                if (state.by_scalar[reg]) done |= kScalarDone;
                if (vector && state.by_vector[reg]) done |= is_vcc(reg) ? kVccDone : kVectorDone;
                if (!vector && is_vcc(reg))
                    state.by_vector[isa::code::vcc_lo] = state.by_vector[isa::code::vcc_hi] = false;
                else if (!vector)
                    keep_vcc(state.by_vector);
            });
        return done;
    }

    MachineFunction& function_;
    std::vector<std::vector<lint::Access>> accesses_;  ///< by block
};

}  // namespace

Result<void> wait_scalars(MachineFunction& function) {
    if (function.family == isa::Family::rdna4) ScalarWaitInserter(function).run();
    return {};
}

}  // namespace strata::codegen
