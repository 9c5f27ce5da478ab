#include "strata/asm/emu/program_p.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "strata/asm/emu/operands_p.h"
#include "strata/asm/emu/scalar_p.h"
#include "strata/asm/emu/workgroup_p.h"
#include "strata/asm/isa/print.h"

namespace strata::emu {
namespace {

using isa::Format;
using isa::Inst;

/// Where control goes after an instruction.
enum class Flow { next, branch, conditional, call, stop };

Flow flow_of(const Inst& inst) {
    std::string_view name = inst.row->mnemonic;
    if (name == "s_branch") return Flow::branch;
    if (name.starts_with("s_cbranch_cdbg")) return Flow::next;
    if (name.starts_with("s_cbranch_")) return Flow::conditional;
    if (name == "s_call_b64") return Flow::call;
    if (name == "s_setpc_b64" || name.starts_with("s_endpgm") || name == "s_rfe_b64") return Flow::stop;
    return Flow::next;
}

uint64_t branch_target(uint64_t offset, const Inst& inst) {
    return offset + 4 + static_cast<uint64_t>(static_cast<int64_t>(inst.offset) * 4);
}

// Glue: ops that stand for no instruction of their own.

/// Goes on at byte offset value[0] of the text, in whatever chunk that is.
const Op* go_on_elsewhere(Wave* wave, const Op* op) {
    const uint64_t address = wave->group->launch->program->address() + op->value[0];
    const Op* const to = code_at(wave, op, address);
    if (!to) return nullptr;
    if (wave->run_start == op)
        wave->run_start = to;
    else
        end_run(wave, op, to);
    STRATA_EMU_GOTO(to);
}

const Op* no_instruction(Wave* wave, const Op* op) {
    return fail(wave, op, "there is no instruction that can be executed here");
}

/// Constants that found no room in an Op of their own, just before their reader.
const Op* compute_operands(Wave* wave, const Op* op) {
    wave->s[Wave::kComputed] = op->value[0];
    wave->s[Wave::kComputed + 1] = op->value[1];
    STRATA_EMU_NEXT;
}

}  // namespace

/// What is reachable from one entry and not decoded yet, by offset.
struct Program::Explorer {
    struct Found {
        Inst inst;
        bool valid = true;
    };
    std::map<uint64_t, Found> found;
    std::set<uint64_t> targets;  ///< of branches: these keep an op even if they do nothing

    struct Root {
        uint64_t offset;
        bool soft;  ///< may turn out not to be code: what follows a call that never returns
    };
    std::vector<Root> roots;

    /// s_getpc_b64 s[n:n+1]; s_add_u32 sn, sn, literal: how LLVM forms the address of a function.
    void see_function_address(const Program& program, uint64_t offset, const Inst& getpc) {
        uint64_t base = offset + getpc.size, at = base;
        for (int i = 0; i < 6; ++i) {
            Result<Inst> next = isa::decode(program.arch_, program.words(at));
            if (!next) return;
            if (next->row->mnemonic == "s_add_u32" && next->src[1].is_literal() &&
                next->src[0].code == getpc.dst[0].code) {
                uint64_t target =
                    base + static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(next->literal)));
                if (target < program.size() && target % 4 == 0) add(target, true);
                return;
            }
            at += next->size;
        }
    }
    void add(uint64_t offset, bool soft) {
        targets.insert(offset);
        roots.push_back({offset, soft});
    }
};

Program::Program(isa::Arch arch, int wave_size, int vgprs, std::span<const uint8_t> text, uint64_t address)
    : arch_(arch),
      wave_size_(wave_size),
      vgprs_(vgprs),
      text_(text.first(text.size() / 4 * 4)),
      address_(address),
      at_(std::make_unique<std::atomic<const Op*>[]>(text.size() / 4)) {}

std::span<const uint32_t> Program::words(uint64_t offset) const {
    if (offset >= text_.size()) return {};
    return {reinterpret_cast<const uint32_t*>(text_.data() + offset), (text_.size() - offset) / 4};
}

Error Program::refuse(uint64_t offset, const Inst* inst, std::string_view why) const {
    std::string name = inst ? std::string(inst->row->mnemonic) : disassembly(offset);
    return make_error(ErrorKind::Unsupported, "{} at offset {:#x} ({}): {}", name, offset, disassembly(offset), why);
}

std::string Program::disassembly(uint64_t offset) const {
    std::span<const uint32_t> at = words(offset);
    if (at.empty()) return "past the end of the code";
    if (Result<Inst> inst = isa::decode(arch_, at)) return isa::print(*inst, arch_);
    return fmt::format(".long {:#010x}", at[0]);
}

Result<const Op*> Program::entry(uint64_t offset) { return at(offset); }

Result<const Op*> Program::at(uint64_t offset) {
    if (offset % 4 != 0 || offset >= text_.size())
        return make_error(ErrorKind::Unsupported, "offset {:#x} is outside the {} bytes of code", offset, text_.size());
    if (const Op* op = at_[offset / 4].load(std::memory_order_acquire)) return op;
    std::lock_guard lock(mutex_);
    if (const Op* op = at_[offset / 4].load(std::memory_order_acquire)) return op;
    return decode(offset);
}

/// Lays out what was found as ops: in the order of the text, with glue where that has gaps.
class Program::Builder {
  public:
    Builder(const Program& program, const Explorer& explorer) : program_(program), explorer_(explorer) {}

    Result<std::unique_ptr<Chunk>> build() {
        for (const auto& [offset, found] : explorer_.found) {
            if (next_ != kNowhere && next_ != offset) glue(next_);
            waiting_.push_back(offset);
            Op op;
            op.index = static_cast<uint32_t>(chunk_->pcs.size());
            chunk_->pcs.push_back(static_cast<uint32_t>(offset));
            chunk_->insts.push_back(found.inst);
            if (found.valid) {
                STRATA_TRY_VOID(add(offset, found.inst, op));
            } else {
                op.run = no_instruction;
                emit(op);
                next_ = kNowhere;
            }
        }
        if (next_ != kNowhere) glue(next_);
        for (const Jump& jump : jumps_) link(jump);
        std::vector<Op>& ops = chunk_->ops;
        for (size_t i = 0; i < ops.size();) i += handlers().group(&ops[i], ops.size() - i);
        return std::move(chunk_);
    }

  private:
    static constexpr uint64_t kNowhere = ~0ull;
    struct Jump {
        size_t op;
        uint64_t target;
    };

    /// One instruction: its operands, its handler, its op.
    Result<void> add(uint64_t offset, const Inst& inst, Op& op) {
        int highest = highest_vgpr(inst, program_.wave_size_);
        if (highest >= program_.vgprs_)
            return program_.refuse(offset, &inst,
                                   fmt::format("uses v{}, but the kernel's descriptor allocates {} vector registers",
                                               highest, program_.vgprs_));
        Computed computed;
        if (resolve_operands(inst, program_.wave_size_, op, computed) < 0)
            return program_.refuse(offset, &inst, "its constants do not fit");
        take_hit_slot(inst, op);
        op.run = choose({inst, program_.arch_, program_.wave_size_, op});
        if (!op.run) return program_.refuse(offset, &inst, "the emulator does not implement this instruction");
        const std::string_view name = inst.row->mnemonic;
        if (name == "s_getpc_b64" || name == "s_swappc_b64" || name == "s_call_b64") {
            const uint64_t after = program_.address_ + offset + inst.size;
            op.value[2] = static_cast<uint32_t>(after);
            op.value[3] = static_cast<uint32_t>(after >> 32);
        }
        if (computed.wide_constant) emit(constant_op(op.index, computed.constant));
        // Hints are left out, except where a branch leads.
        if (op.run != nop || explorer_.targets.contains(offset)) emit(op);
        const Flow flow = flow_of(inst);
        if (flow == Flow::branch || flow == Flow::conditional || flow == Flow::call)
            jumps_.push_back({chunk_->ops.size() - 1, branch_target(offset, inst)});
        next_ = flow == Flow::branch || flow == Flow::stop ? kNowhere : offset + inst.size;
        return {};
    }

  public:
    static Handler choose(const Choice& choice) {
        const HandlerSet& set = handlers();
        const Format format = choice.inst.row->format;
        if (format <= Format::SMEM) return set.scalar(choice);
        const bool memory = format >= Format::DS && format <= Format::GLOBAL && format != Format::MIMG;
        return memory ? set.memory(choice) : set.valu(choice);
    }

  private:
    static Op constant_op(uint32_t index, uint64_t constant) {
        Op op;
        op.run = compute_operands;
        op.index = index;
        op.value[0] = static_cast<uint32_t>(constant);
        op.value[1] = static_cast<uint32_t>(constant >> 32);
        return op;
    }

    /// Memory instructions share a wave's hit slots in turn.
    void take_hit_slot(const Inst& inst, Op& op) {
        if (!(inst.row->flags & isa::kMemory)) return;
        const bool writes = inst.row->flags & (isa::kStore | isa::kAtomic);
        op.aux = writes ? Wave::kStoreHits + stores_++ % (Wave::kHits - Wave::kStoreHits) : loads_++ % Wave::kStoreHits;
    }

    void emit(const Op& op) {
        for (uint64_t offset : waiting_) position_[offset] = chunk_->ops.size();
        waiting_.clear();
        chunk_->ops.push_back(op);
    }
    void glue(uint64_t offset) {
        Op op;
        op.run = go_on_elsewhere;
        op.value[0] = static_cast<uint32_t>(offset);
        op.index = chunk_->pcs.empty() ? 0 : static_cast<uint32_t>(chunk_->pcs.size() - 1);
        emit(op);
    }
    void link(const Jump& jump) {
        auto to = position_.find(jump.target);
        const size_t at = to != position_.end() ? to->second : chunk_->ops.size();
        if (to == position_.end()) glue(jump.target);
        chunk_->ops[jump.op].imm = static_cast<uint32_t>(static_cast<int64_t>(at) - static_cast<int64_t>(jump.op));
    }

    const Program& program_;
    const Explorer& explorer_;
    std::unique_ptr<Chunk> chunk_ = std::make_unique<Chunk>();
    std::map<uint64_t, size_t> position_;  ///< of the first op of an instruction
    std::vector<uint64_t> waiting_;        ///< instructions left out, and the one at hand: they go to the next op
    std::vector<Jump> jumps_;
    uint64_t next_ = kNowhere;  ///< where the instruction before goes on, if it does
    uint32_t loads_ = 0, stores_ = 0;
};

bool Program::executes(isa::Arch arch, int wave_size, const isa::Inst& inst) {
    Op op;
    Computed computed;
    return resolve_operands(inst, wave_size, op, computed) >= 0 && Builder::choose({inst, arch, wave_size, op});
}

Result<const Op*> Program::decode(uint64_t offset) {
    Explorer found;
    found.add(offset, false);
    while (!found.roots.empty()) {
        auto [at, soft] = found.roots.back();
        found.roots.pop_back();
        for (Flow flow = Flow::next; flow != Flow::stop && flow != Flow::branch;) {
            if (found.found.contains(at) || (at < text_.size() && at_[at / 4].load())) break;
            Result<Inst> inst = isa::decode(arch_, words(at));
            if (!inst || (inst->row->flags & isa::kNotOnSilicon)) {
                if (!soft) return refuse(at, nullptr, inst ? "not on silicon" : inst.error().message);
                if (at < text_.size()) found.found[at] = {{}, false};
                break;
            }
            found.found[at] = {*inst};
            flow = flow_of(*inst);
            if (flow == Flow::branch || flow == Flow::conditional || flow == Flow::call)
                found.add(branch_target(at, *inst), soft);
            if (inst->row->mnemonic == "s_getpc_b64") found.see_function_address(*this, at, *inst);
            if (flow == Flow::call || inst->row->mnemonic == "s_swappc_b64")
                found.targets.insert(at + inst->size);  // return address
            soft =
                soft || flow == Flow::call || inst->row->mnemonic == "s_swappc_b64" || inst->row->mnemonic == "s_trap";
            at += inst->size;
        }
    }
    STRATA_TRY(std::unique_ptr<Chunk> chunk, Builder(*this, found).build());
    int index = chunk_count_.load();
    if (index == kMaxChunks)
        return make_error(ErrorKind::Unsupported, "too many separate pieces of code are reached at run time");
    published_[static_cast<size_t>(index)].store(chunk.get(), std::memory_order_release);
    chunk_count_.store(index + 1, std::memory_order_release);
    // Places become visible only now: an op is found once all it leads to exists.
    uint64_t at = ~0ull;
    for (const Op& op : chunk->ops) {
        if (op.run == go_on_elsewhere) continue;
        uint64_t pc = chunk->pcs[op.index];
        if (pc == at) continue;  // the reader of a computed operand
        at = pc;
        at_[pc / 4].store(&op, std::memory_order_release);
    }
    chunks_.push_back(std::move(chunk));
    return at_[offset / 4].load();
}

const Chunk* Program::chunk(const Op* op) const {
    int count = chunk_count_.load(std::memory_order_acquire);
    for (int i = 0; i < count; ++i) {
        const Chunk* chunk = published_[static_cast<size_t>(i)].load(std::memory_order_acquire);
        if (chunk->holds(op)) return chunk;
    }
    return nullptr;
}

uint64_t Program::pc(const Op* op) const {
    const Chunk* at = chunk(op);
    return at && op->index < at->pcs.size() ? at->pcs[op->index] : 0;
}

const Inst* Program::inst(const Op* op) const {
    const Chunk* at = chunk(op);
    return at && op->run != go_on_elsewhere && op->index < at->insts.size() ? &at->insts[op->index] : nullptr;
}

}  // namespace strata::emu
