#include "strata/asm/emu/program/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "strata/asm/emu/program/build.h"
#include "strata/asm/isa/print.h"

// Decoding by following the control flow from an entry.
namespace strata::emu {

using isa::Inst;

Flow flow_of(const Inst& inst) {
    if (inst.row->format > isa::Format::SOPP) return Flow::next;
    std::string_view name = inst.row->mnemonic;
    if (name == "s_branch") return Flow::branch;
    if (name.starts_with("s_cbranch_cdbg") || name == "s_cbranch_g_fork" || name == "s_cbranch_join") return Flow::next;
    if (name.starts_with("s_cbranch_") || name.starts_with("s_subvector_loop_")) return Flow::conditional;
    if (name == "s_call_b64") return Flow::call;
    if (name == "s_setpc_b64" || name.starts_with("s_endpgm") || name.starts_with("s_rfe_")) return Flow::stop;
    return Flow::next;
}

uint64_t branch_target(uint64_t offset, const Inst& inst) {
    return offset + 4 + static_cast<uint64_t>(static_cast<int64_t>(inst.offset) * 4);
}

std::vector<Explored::Found>::const_iterator Explored::at(uint64_t offset) const {
    auto it = std::ranges::lower_bound(found, offset, {}, &Found::offset);
    return it != found.end() && it->offset == offset ? it : found.end();
}

namespace {

struct Root {
    uint64_t offset;
    bool soft;  ///< may never be reached, or be no code at all: what follows a trap or a call
};

/// s_getpc_b64 s[n:n+1]; s_add_u32 sn, sn, literal: how LLVM forms the address of a function. `next` decodes at an
/// offset; gives the function's offset, or none.
template <class Decode>
std::optional<uint64_t> function_address(isa::Family family, uint64_t offset, const Inst& getpc, Decode decode) {
    const uint64_t base = offset + getpc.size;
    uint64_t at = base;
    for (int i = 0; i < 6; ++i) {
        Result<Inst> next = decode(at);
        if (!next) return {};
        if (handler_name(family, next->row->mnemonic) == "s_add_u32" && next->src[1].is_literal() &&
            next->src[0].code == getpc.dst[0].code)
            return base + static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(next->literal)));
        at += next->size;
    }
    return {};
}

}  // namespace

Program::Program(isa::Arch arch, int wave_size, int vgprs, int accum_offset, std::span<const uint8_t> text,
                 uint64_t address)
    : arch_(arch),
      wave_size_(wave_size),
      vgprs_(vgprs),
      accum_offset_(accum_offset),
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
    if (Result<Inst> inst = isa::decode(arch_, at, wave_size_)) return isa::print(*inst, arch_);
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

Result<const Op*> Program::at_address(uint64_t address) {
    const uint64_t offset = address - address_;
    if (offset >= size())
        return make_error(ErrorKind::MemoryFault, "jumps to {:#x}, which is no code of this module", address);
    return at(offset);
}

/// The code that is reachable from `offset` and not decoded yet. Code that only soft roots lead to comes last.
Result<Explored> Program::explore(uint64_t offset) {
    Explored explored;
    std::vector<Root> roots;
    std::vector<bool> reached(text_.size() / 4);
    auto add = [&](uint64_t to, bool soft) {
        explored.targets.insert(to);
        roots.insert(soft ? roots.begin() : roots.end(), {to, soft});
    };
    add(offset, false);
    while (!roots.empty()) {
        auto [at, soft] = roots.back();
        roots.pop_back();
        for (Flow flow = Flow::next; flow != Flow::stop && flow != Flow::branch;) {
            if (at < text_.size() && (reached[at / 4] || at_[at / 4].load())) break;
            if (at >= text_.size() && !soft)
                return make_error(ErrorKind::Unsupported,
                                  "control goes past the end of the code, to offset {:#x} of {} bytes: it ends with "
                                  "s_endpgm, and branches stay within it",
                                  at, text_.size());
            Result<Inst> inst = isa::decode(arch_, words(at), wave_size_);
            if (!inst || (inst->row->flags & isa::kNotOnSilicon)) {
                if (!soft) return refuse(at, nullptr, inst ? "not on silicon" : inst.error().message);
                if (at >= text_.size()) break;
                reached[at / 4] = true;
                explored.found.push_back({at, false, true, {}});
                break;
            }
            reached[at / 4] = true;
            explored.found.push_back({at, true, soft, *inst});
            const std::string_view name = inst->row->mnemonic;
            flow = flow_of(*inst);
            if (flow == Flow::branch || flow == Flow::conditional || flow == Flow::call)
                add(branch_target(at, *inst), soft);
            if (name == "s_getpc_b64") {
                auto function = function_address(isa::info(arch_).family, at, *inst,
                                                 [&](uint64_t to) { return isa::decode(arch_, words(to)); });
                if (function && *function < size() && *function % 4 == 0) add(*function, true);
            }
            const bool returns = flow == Flow::call || name == "s_swappc_b64";
            at += inst->size;
            if (name == "s_cbranch_g_fork" || name == "s_cbranch_i_fork") explored.targets.insert(at);
            if (returns) explored.targets.insert(at);
            if (soft || !(returns || name == "s_trap")) continue;
            roots.insert(roots.begin(), {at, true});  // perhaps nobody comes back here
            break;
        }
    }
    if (!std::ranges::is_sorted(explored.found, {}, &Explored::Found::offset))
        std::ranges::sort(explored.found, {}, &Explored::Found::offset);
    return explored;
}

bool Program::executes(isa::Arch arch, int wave_size, const Inst& inst) {
    return make_op({inst, arch, wave_size}).has_value();
}

Result<const Op*> Program::decode(uint64_t offset) {
    STRATA_TRY(Explored explored, explore(offset));
    for (const Explored::Found& found : explored.found) {
        if (!found.valid) continue;
        order_ = std::max(order_, order_of(isa::info(arch_).family, found.inst));
        leaves_known_code_ |= leaves_known_code(found.inst);
        if (indexed_ || !starts_indexing(found.inst)) continue;
        if (chunk_count_.load())
            return refuse(found.offset, &found.inst, "register indexing in code that is first reached at run time");
        indexed_ = true;
    }
    STRATA_TRY(std::unique_ptr<Chunk> chunk, ChunkBuilder(*this, explored).build());
    int index = chunk_count_.load();
    if (index == kMaxChunks)
        return make_error(ErrorKind::Unsupported, "too many separate pieces of code are reached at run time");
    chunk->number = static_cast<size_t>(index);
    published_[chunk->number].store(chunk.get(), std::memory_order_release);
    chunk_count_.store(index + 1, std::memory_order_release);
    // Places become visible only now: an op is found once all it leads to exists.
    uint64_t at = ~0ull;
    for (const Op& op : chunk->ops) {
        if (op.run == go_on_elsewhere) continue;
        uint64_t pc = chunk->pcs[op.index];
        if (pc == at) continue;  // its operands were computed, or its mode looked at, by an op before
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

std::vector<const Chunk*> Program::chunks() const {
    std::vector<const Chunk*> chunks;
    for (int i = 0; i < chunk_count_.load(std::memory_order_acquire); ++i)
        chunks.push_back(published_[static_cast<size_t>(i)].load(std::memory_order_acquire));
    return chunks;
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
