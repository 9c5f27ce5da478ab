// insert_waits: the waits that an instruction's registers need stand in front of it, by data flow over the blocks. Each
// counter goes down no further than it must. Barriers wait for what other waves of the workgroup may read after them,
// and RDNA drops its caches there.
// Before:  global_load_b32 v1, ...; global_load_b32 v2, ...; v_add_f32 v1, v1, v1
// After:   global_load_b32 v1, ...; global_load_b32 v2, ...; s_waitcnt vmcnt(1); v_add_f32 v1, v1, v1
#include <algorithm>
#include <bit>

#include "strata/asm/lint/wait_fields.h"
#include "strata/codegen/lower/finish/dataflow_p.h"
#include "strata/codegen/lower/finish/in_flight_p.h"
#include "strata/codegen/machine/passes.h"
#include "strata/codegen/machine/workarounds.h"
#include "strata/core/uop/walk.h"

namespace strata::codegen {
namespace {

namespace counter = isa::counter;

/// The place of the field's counter in Waits.
size_t index_of(const lint::WaitField& field) { return static_cast<size_t>(std::countr_zero(field.counter)); }

bool ends_scope(std::string_view mnemonic) {
    return mnemonic == "s_barrier" || mnemonic.starts_with("s_barrier_signal");
}
bool begins_scope(std::string_view mnemonic) { return mnemonic == "s_barrier" || mnemonic == "s_barrier_wait"; }

/// True if threads may read in global memory what others of the workgroup wrote: some buffer is read and written.
bool shares_global_memory(const LinearProgram& program) {
    const auto is_global = [](UOp u) { return u.is(Op::param) && u.as<ParamArg>().space == Space::global; };
    UOpMap<bool> read, written;
    for (UOp u : program.ops) {
        if (u.is(Op::async_copy)) read[memory_of(u.src(1))] = true;
        const bool loads = u.is(Op::load), stores = u.is(Op::store);
        if (!loads && !writes_memory(u)) continue;
        const UOp memory = memory_of(u);
        if (!is_global(memory)) continue;
        if (!stores) read[memory] = true;
        if (!loads) written[memory] = true;
    }
    return std::ranges::any_of(written, [&](const auto& one) { return read.contains(one.first); });
}

class WaitInserter {
  public:
    explicit WaitInserter(MachineFunction& function)
        : function_(function),
          rdna_(!isa::is_cdna(function.family)),
          shares_(shares_global_memory(function.program)),
          entered_(function.blocks.size(), InFlight(function.target.arch)),
          accesses_(accesses_of(function)) {
        for (const lint::WaitField& field : lint::kWaitFields)
            if (field.families.has(function.family)) fields_.push_back(&field);
    }

    void run() { insert(function_, flow()); }

  private:
    /// Until no block leaves anything new. A wait that one round adds may make another one needless, so each round
    /// starts over. Should that not converge, states only grow from some round on.
    Insertions flow() {
        constexpr int kRounds = 8;
        std::vector<std::vector<uint32_t>> before(entered_.size());
        bool loops = false;
        for (uint32_t i = 0; i < entered_.size(); ++i)
            for (uint32_t next : function_.successors(i)) {
                before[next].push_back(i);
                loops |= next <= i;
            }
        std::vector<InFlight> left(entered_.size(), InFlight(function_.target.arch));
        Insertions added(entered_.size());
        bool changed = true;
        for (int round = 0; changed; ++round) {
            changed = false;
            for (uint32_t i = 0; i < entered_.size(); ++i) {
                if (round < kRounds) entered_[i] = InFlight(function_.target.arch);
                for (uint32_t from : before[i]) entered_[i].join(left[from]);
                added[i].clear();
                InFlight now = walk(i, added[i]);
                changed |= now != left[i];
                left[i] = std::move(now);
            }
            changed &= loops;
        }
        return added;
    }

    /// Goes through a block; `added` gets what it needs in front of its instructions.
    InFlight walk(uint32_t block, std::vector<Insertion>& added) {
        InFlight state = entered_[block];
        const std::vector<Instruction>& code = function_.blocks[block].code;
        for (size_t i = 0; i < code.size(); ++i) {
            const isa::Inst& inst = code[i].inst;
            const std::string_view mnemonic = inst.row->mnemonic;
            const auto put = [&](const Instruction& instruction, size_t before) {
                added.push_back({before, instruction});
                state.begin(instruction.inst,
                            lint::access_of(function_.target.arch, instruction.inst, function_.wave_size()));
            };
            const auto wait = [&](const Waits& waits) {
                if (waits == kNoWaits) return;
                for (const Instruction& one : waits_for(waits, code[i].origin)) added.push_back({i, one});
                state.wait(waits);
            };
            wait(state.before(inst, accesses_[block][i]));
            if (ends_scope(mnemonic)) {
                if (shares_ && function_.family == isa::Family::rdna4) put(cache("global_wb", code[i].origin), i);
                using enum Queue;
                wait(value_of(Workaround::barriers_wait_for_all, function_.target)
                         ? state.until_ended({vector, private_store, local, global_share, scalar, message, flat})
                         : state.until_ended({local, flat}));
            }
            if (mnemonic == "s_endpgm" && releases(state)) {
                put(immediate(function_, "s_nop", 0, code[i].origin), i);
                put(immediate(function_, "s_sendmsg", kReleaseMessage, code[i].origin), i);
            }
            state.begin(inst, accesses_[block][i]);
            if (begins_scope(mnemonic) && shares_ && rdna_)
                put(function_.family == isa::Family::rdna4 ? cache("global_inv", code[i].origin)
                                                           : immediate(function_, "buffer_gl0_inv", 0, code[i].origin),
                    i + 1);
        }
        return state;
    }

    /// Registers go back early where the end of the program has to wait for stores (LLVM's SIInsertWaitcnts).
    bool releases(const InFlight& state) const {
        constexpr uint16_t stores = counter::vscnt | counter::storecnt;
        return rdna_ && state.any(Queue::vector, stores) && !state.any(Queue::private_store, stores);
    }

    /// RDNA4's caches of the workgroup's two halves.
    Instruction cache(std::string_view mnemonic, uint32_t origin) const {
        Instruction made = immediate(function_, mnemonic, 0, origin);
        made.inst.scope = kScopeShaderEngine;
        return made;
    }

    /// As few instructions as the family has for these counts.
    std::vector<Instruction> waits_for(Waits waits, uint32_t origin) const {
        std::vector<Instruction> all;
        while (true) {
            const lint::WaitField* best = nullptr;
            int covers_most = 0;
            for (const lint::WaitField* field : fields_) {
                const int covered = covers(field->mnemonic, waits);
                if (covered > covers_most) best = field, covers_most = covered;
            }
            if (!best) return all;
            uint32_t value = 0;
            for (const lint::WaitField* field : fields_) {
                if (field->mnemonic != best->mnemonic) continue;
                uint8_t& wanted = waits[index_of(*field)];
                value |= put(*field, wanted == kNoWait ? most(*field) : std::min<uint32_t>(wanted, most(*field) - 1));
                wanted = kNoWait;
            }
            all.push_back(immediate(function_, best->mnemonic, static_cast<int16_t>(value), origin));
        }
    }

    int covers(std::string_view mnemonic, const Waits& waits) const {
        int count = 0;
        for (const lint::WaitField* field : fields_)
            count += field->mnemonic == mnemonic && waits[index_of(*field)] != kNoWait;
        return count;
    }

    static constexpr int32_t kReleaseMessage = 3;     // MSG_DEALLOC_VGPRS (RDNA3 ISA 5.4.2)
    static constexpr uint8_t kScopeShaderEngine = 1;  // RDNA4 ISA 10.9, "SCOPE_SE"

    MachineFunction& function_;
    bool rdna_, shares_;
    std::vector<InFlight> entered_;  ///< by block
    std::vector<std::vector<lint::Access>> accesses_;
    std::vector<const lint::WaitField*> fields_;  ///< that the family has
};

}  // namespace

Result<void> insert_waits(MachineFunction& function) {
    WaitInserter(function).run();
    return {};
}

}  // namespace strata::codegen
