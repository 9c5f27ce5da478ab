#pragma once
#include <gtest/gtest.h>

#include <bit>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "strata/codegen/linear/linear.h"
#include "strata/codegen/target/ldmatrix.h"
#include "strata/codegen/target/warpgroup_products.h"
#include "strata/core/uop/reference.h"
#include "strata/core/uop/uop.h"

namespace strata::codegen {

using Scalars = std::vector<ConstArg>;
/// Elements of each global param by slot.
using Memory = std::map<int, Scalars>;

inline UOp below_after(UOp u) {
    while (u.is(Op::after)) u = u.src(0);
    return u;
}
inline ConstArg int_value(int64_t i) { return {i, 0}; }

/// Runs a linear program as a GPU might. The threads of a block run one after the other up to each barrier or exchange
/// between lanes. Their order changes from phase to phase, so that a missing barrier shows. Local memory and registers
/// start as garbage.
class Interpreter {
  public:
    Interpreter(const LinearProgram& program, Memory& memory) : program_(program), memory_(memory) {
        std::vector<size_t> open;
        partner_.resize(program.ops.size());
        for (size_t i = 0; i < program.ops.size(); ++i) {
            place_[program.ops[i]] = i;
            if (program.ops[i].is(Op::range)) open.push_back(i);
            if (program.ops[i].is(Op::end)) {
                partner_[i] = open.back();
                partner_[open.back()] = i;
                open.pop_back();
            }
        }
    }

    void run() {
        for (uint32_t z = 0; z < program_.grid[2]; ++z)
            for (uint32_t y = 0; y < program_.grid[1]; ++y)
                for (uint32_t x = 0; x < program_.grid[0]; ++x) run_block({x, y, z});
    }

    /// That the first threads of all blocks took in loops.
    int64_t steps() const { return steps_; }

  private:
    using Dims = std::array<uint32_t, 3>;
    struct Thread {
        Dims at;
        size_t pc = 0;
        std::vector<Scalars> values;  ///< by place in the list
        std::map<const Node*, Scalars> registers;
    };

    void run_block(Dims block) {
        block_ = block;
        local_.clear();
        std::vector<Thread> threads;
        const Dims& size = program_.block;
        for (uint32_t i = 0; i < size[0] * size[1] * size[2]; ++i)
            threads.push_back({{i % size[0], i / size[0] % size[1], i / size[0] / size[1]},
                               0,
                               std::vector<Scalars>(program_.ops.size()),
                               {}});
        for (bool backwards = false, waiting = true; waiting; backwards = !backwards) {
            size_t stopped = 0;
            for (size_t i = 0; i < threads.size(); ++i)
                stopped += run_to_barrier(threads[backwards ? threads.size() - 1 - i : i]);
            ASSERT_TRUE(stopped == 0 || stopped == threads.size()) << "threads part at a barrier";
            waiting = stopped > 0;
            if (waiting) exchange(threads);
        }
    }

    /// mma.sync of NVIDIA's: a register has `w` elements. The PTX ISA gives the element of each lane of 32 ("Matrix
    /// fragments for mma.m16n8k16", of mma.m16n8k32). The two of a matrix instruction of Strata's take the registers of
    /// B and C as the text that calls them names them (codegen/render/wave_functions.cpp).
    void multiply(std::vector<Thread>& threads, UOp u, size_t here) {
        const size_t w = static_cast<size_t>(u.src(0).dtype().lanes) / 4;
        for (size_t wave = 0; wave + 32 <= threads.size(); wave += 32)
            for (size_t half : {0, 1}) {
                double a[16][32], b[32][8];
                for (size_t lane = 0; lane < 32; ++lane) {
                    const Scalars &left = value(threads[wave + lane], u.src(0)),
                                  &right = value(threads[wave + lane], u.src(1));
                    const size_t group = lane / 4, place = lane % 4;
                    for (size_t i = 0; i < 4 * w; ++i)
                        a[group + 8 * (i / w % 2)][place * w + i % w + 4 * w * (i / w / 2)] = number(left[i], u.src(0));
                    for (size_t i = 0; i < 2 * w; ++i)
                        b[place * w + i % w + 4 * w * (i / w)][group] = number(right[2 * w * half + i], u.src(1));
                }
                for (size_t lane = 0; lane < 32; ++lane) {
                    Thread& t = threads[wave + lane];
                    if (half == 0) t.values[here] = value(t, u.src(2));
                    for (size_t i = 0; i < 4; ++i) {
                        ConstArg& sum = t.values[here][4 * (i / 2) + 2 * half + i % 2];
                        for (size_t k = 0; k < 8 * w; ++k) {
                            const double term = a[lane / 4 + 8 * (i / 2)][k] * b[k][lane % 4 * 2 + i % 2];
                            sum.f += term, sum.i += static_cast<int64_t>(term);
                        }
                    }
                }
            }
    }
    /// wgmma.mma_async of four waves, with operands in shared memory as in the PTX ISA ("128-Byte swizzling") and sums
    /// in registers. A byte's address has bits 4 to 6 xored with bits 7 to 9.
    void multiply_in_groups(std::vector<Thread>& threads, UOp u, const WarpgroupProduct& product, size_t here) {
        const int64_t bytes = u.src(0).dtype().element().bytes(), line = 128 / bytes, depth = 32 / bytes;
        const size_t columns = static_cast<size_t>(u.dtype().lanes) * 2;
        const auto element = [&](Thread& first, UOp operand, const SwizzledTile& tile, int64_t row, int64_t k) {
            const UOp index = operand.src(0);
            const Scalars& memory = *elements(first, below_after(index.src(0)));
            const int64_t start = value(first, index.src(1))[0].i;
            const int64_t x = tile.along_k ? k : row, y = tile.along_k ? row : k;
            const int64_t at = (start + x / line * tile.rows * line + y * line + x % line) * bytes;
            return number(memory.at(static_cast<size_t>((at ^ (at >> 7 & 7) << 4) / bytes)), operand);
        };
        for (size_t group = 0; group + 128 <= threads.size(); group += 128) {
            std::vector<double> a, b;  // [row][k], [column][k]
            const int64_t all = product.steps * depth;
            // Of A in registers, each step of K is two words for each of rows g and g + 8. They are columns 2p, 2p + 1
            // and the same 8 further.
            const auto held = [&](int64_t row, int64_t k) {
                const int64_t lane = row % 8 * 4 + k % 8 / 2,
                              at = k / depth * 8 + k % depth / 8 * 4 + row / 8 % 2 * 2 + k % 2;
                return number(value(threads[group + static_cast<size_t>(row / 16 * 32 + lane)], u.src(0))
                                  .at(static_cast<size_t>(at)),
                              u.src(0));
            };
            for (int64_t row = 0; row < 64; ++row)
                for (int64_t k = 0; k < all; ++k)
                    a.push_back(product.holds_a() ? held(row, k)
                                                  : element(threads[group], u.src(0), product.a, row, k));
            for (int64_t n = 0; n < static_cast<int64_t>(columns); ++n)
                for (int64_t k = 0; k < all; ++k) b.push_back(element(threads[group], u.src(1), product.b, n, k));
            for (size_t i = 0; i < 128; ++i) {
                Thread& t = threads[group + i];
                t.values[here] = value(t, u.src(2));
                const size_t lane = i % 32, wave = i / 32;
                for (size_t d = 0; d < columns / 2; ++d) {
                    const size_t row = 16 * wave + lane / 4 + 8 * (d / 2 % 2), n = d / 4 * 8 + lane % 4 * 2 + d % 2;
                    for (size_t k = 0; k < static_cast<size_t>(all); ++k)
                        t.values[here][d].f +=
                            a[row * static_cast<size_t>(all) + k] * b[n * static_cast<size_t>(all) + k];
                }
            }
        }
    }
    /// ldmatrix, as the PTX ISA says.
    void read_matrices(std::vector<Thread>& threads, UOp u, size_t here) {
        const size_t w = static_cast<size_t>(u.dtype().lanes) / 4;
        for (size_t wave = 0; wave + 32 <= threads.size(); wave += 32)
            for (size_t lane = 0; lane < 32; ++lane) {
                const auto row = [&](size_t matrix, size_t r) {
                    return value(threads[wave + matrix * 8 + r], u.src(0));
                };
                Scalars& held = threads[wave + lane].values[here];
                held.clear();
                for (size_t i = 0; i < 4 * w; ++i)
                    held.push_back(u.as<MatrixArg>().name == kReadRows ? row(i / w, lane / 4)[lane % 4 * w + i % w]
                                                                       : row(i / w, lane % 4 * w + i % w)[lane / 4]);
            }
    }
    static double number(const ConstArg& x, UOp u) { return u.dtype().is_float() ? x.f : static_cast<double>(x.i); }

    static constexpr size_t kWave = 32;
    void vote(std::vector<Thread>& threads, UOp u, size_t here) {
        for (size_t i = 0; i < threads.size(); ++i) {
            uint64_t bits = 0;
            for (size_t k = i / kWave * kWave; k < std::min((i / kWave + 1) * kWave, threads.size()); ++k)
                bits |= static_cast<uint64_t>(value(threads[k], u.src(0))[0].i & 1) << k % kWave;
            threads[i].values[here] = {int_value(static_cast<int64_t>(bits))};
        }
    }

    /// Threads that wait at a shuffle or a matrix product get its value.
    void exchange(std::vector<Thread>& threads) {
        const size_t here = threads[0].pc - 1;
        const UOp u = program_.ops[here];
        if (is_ldmatrix(u)) return read_matrices(threads, u, here);
        if (const auto product = warpgroup_product(u)) return multiply_in_groups(threads, u, *product, here);
        if (u.is(Op::wmma)) return multiply(threads, u, here);
        if (u.is(Op::ballot)) return vote(threads, u, here);
        if (!u.is(Op::shuffle_xor) && !u.is(Op::shuffle)) return;
        for (size_t i = 0; i < threads.size(); ++i) {
            const size_t other = u.is(Op::shuffle)
                                     ? i / kWave * kWave + static_cast<size_t>(value(threads[i], u.src(1))[0].i) % kWave
                                     : i ^ static_cast<size_t>(u.as<IndexArg>().index);
            ASSERT_LT(other, threads.size()) << to_string(u) << " leaves the block";
            threads[i].values[here] = value(threads[other], u.src(0));
        }
    }

    /// True at a barrier or what lanes do together, false at the end.
    bool run_to_barrier(Thread& t) {
        while (t.pc < program_.ops.size()) {
            UOp u = program_.ops[t.pc];
            size_t here = t.pc++;
            switch (u.op()) {
                case Op::barrier:
                case Op::wave_barrier:
                case Op::ballot:
                case Op::shuffle:
                case Op::shuffle_xor:
                case Op::wmma: return true;
                case Op::range:
                    t.values[here] = {int_value(0)};
                    if (steps_of(t, u) == 0) t.pc = partner_[here] + 1;
                    break;
                case Op::end: step(t, partner_[here]); break;
                case Op::break_if:
                    if (value(t, u.src(0))[0].i) t.pc = partner_[place_.at(u.src(1))] + 1;
                    break;
                case Op::atomic: t.values[here] = {atomic(t, u)}; break;
                case Op::fetched: t.values[here] = t.values[place_.at(u.src(0))]; break;
                case Op::fence: break;
                case Op::trap: EXPECT_FALSE(value(t, u.src(0))[0].i) << to_string(u); break;
                case Op::store: store(t, u); break;
                case Op::param:
                case Op::index: break;
                default: t.values[here] = compute(t, u);
            }
        }
        return false;
    }

    void step(Thread& t, size_t range) {
        int64_t& i = t.values[range][0].i;
        steps_ += t.at == Dims{};
        if (++i < steps_of(t, program_.ops[range])) t.pc = range + 1;
    }
    int64_t steps_of(const Thread& t, UOp range) const {
        const int64_t all = range.as<RangeArg>().size, steps = range.src().empty() ? all : value(t, range.src(0))[0].i;
        EXPECT_TRUE(steps >= 0 && steps <= all) << steps << " of " << to_string(range);
        return steps;
    }

    const Scalars& value(const Thread& t, UOp u) const { return t.values[place_.at(below_after(u))]; }

    Scalars* elements(Thread& t, UOp param) {
        const ParamArg& arg = param.as<ParamArg>();
        if (arg.space == Space::global) return &memory_.at(arg.slot);
        auto& held = arg.space == Space::local ? local_ : t.registers;
        if (const auto found = held.find(param.node()); found != held.end()) return &found->second;
        const auto size = static_cast<size_t>(arg.size * param.dtype().lanes);
        return &held.emplace(param.node(), Scalars(size, ConstArg{-77777, -77777})).first->second;
    }

    struct Span {
        Scalars* memory;
        size_t first;
    };
    /// Where an access goes; nothing where its predicate is false.
    std::optional<Span> access(Thread& t, UOp index, int lanes) {
        if (index.src().size() > 2 && !value(t, index.src(2))[0].i) return {};
        Scalars* memory = elements(t, below_after(index.src(0)));
        int64_t at = value(t, index.src(1))[0].i;
        EXPECT_TRUE(at >= 0 && at + lanes <= static_cast<int64_t>(memory->size()))
            << at << " of " << memory->size() << ": " << to_string(index.src(0));
        EXPECT_EQ(at % lanes, 0) << "a vector is not aligned";
        if (at < 0 || at + lanes > static_cast<int64_t>(memory->size())) return {};
        return Span{memory, static_cast<size_t>(at)};
    }

    void store(Thread& t, UOp u) {
        const Scalars& v = value(t, u.src(1));
        if (auto to = access(t, u.src(0), u.src(1).dtype().lanes))
            std::copy(v.begin(), v.end(), to->memory->begin() + static_cast<ptrdiff_t>(to->first));
    }

    /// The old value of the place. Integers are kept extended to 64 bits as their type says.
    ConstArg atomic(Thread& t, UOp u) {
        const auto to = access(t, u.src(0), 1);
        if (!to) return {};
        ConstArg& cell = (*to->memory)[to->first];
        const ConstArg old = cell, v = value(t, u.src(1))[0];
        const DType type = u.src(0).dtype();
        const auto by = [&](Op op) { return *reference(op, type, type, std::array{old, v}); };
        const auto bits = [](const ConstArg& x) { return std::pair(x.i, std::bit_cast<int64_t>(x.f)); };
        const uint64_t count = static_cast<uint64_t>(old.i), most = static_cast<uint64_t>(v.i);
        switch (u.as<AtomicArg>().operation) {
            case AtomicOp::add: cell = by(Op::add); break;
            case AtomicOp::max: cell = by(Op::max); break;
            case AtomicOp::min: cell = by(Op::min); break;
            case AtomicOp::bit_and: cell = by(Op::bit_and); break;
            case AtomicOp::bit_or: cell = by(Op::bit_or); break;
            case AtomicOp::bit_xor: cell = by(Op::bit_xor); break;
            case AtomicOp::exchange: cell = v; break;
            case AtomicOp::compare_exchange:
                if (bits(old) == bits(value(t, u.src(2))[0])) cell = v;
                break;
            case AtomicOp::inc: cell.i = count >= most ? 0 : old.i + 1; break;
            case AtomicOp::dec: cell.i = count == 0 || count > most ? v.i : old.i - 1; break;
        }
        return old;
    }

    Scalars compute(Thread& t, UOp u) {
        size_t lanes = u.dtype().lanes;
        if (u.is_const()) return Scalars(lanes, u.as<ConstArg>());
        if (u.is(Op::special))
            return {
                int_value((u.as<SpecialArg>().thread ? t.at : block_)[static_cast<size_t>(u.as<SpecialArg>().dim)])};
        if (u.is(Op::lane)) return {value(t, u.src(0))[static_cast<size_t>(u.as<IndexArg>().index)]};
        if (u.is(Op::load)) {
            auto from = access(t, u.src(0), static_cast<int>(lanes));
            if (!from) return u.src().size() > 1 ? value(t, u.src(1)) : Scalars(lanes);
            auto first = from->memory->begin() + static_cast<ptrdiff_t>(from->first);
            return Scalars(first, first + static_cast<ptrdiff_t>(lanes));
        }
        Scalars sources;
        for (UOp s : u.src()) sources.push_back(value(t, s)[0]);
        if (u.is(Op::vec)) return sources;
        auto result = reference(u.op(), u.dtype(), u.src().back().dtype(), sources);
        EXPECT_TRUE(result) << to_string(u);
        return {result.value_or(ConstArg{})};
    }

    const LinearProgram& program_;
    int64_t steps_ = 0;
    Memory& memory_;
    UOpMap<size_t> place_;
    std::vector<size_t> partner_;
    Dims block_{};
    std::map<const Node*, Scalars> local_;
};

/// The meaning of a kernel without registers and local memory, straight from its graph. The result of a reduction is
/// kept for each index that it depends on.
class Evaluator {
  public:
    explicit Evaluator(Memory& memory) : memory_(memory) {}

    void run(UOp effect) {
        if (effect.is(Op::store)) return store(effect);
        if (effect.is(Op::end)) return loop(effect.src().subspan(1), [&] { run(effect.src(0)); });
        for (UOp s : effect.src()) run(s);
    }

  private:
    template <class Body>
    void loop(std::span<const UOp> ranges, const Body& body) {
        if (ranges.empty()) return body();
        for (int64_t i = 0; i < ranges[0].as<RangeArg>().size; ++i) {
            at_[ranges[0]] = i;
            loop(ranges.subspan(1), body);
        }
        at_.erase(ranges[0]);
    }

    bool open(UOp index) { return index.src().size() < 3 || value(index.src(2)).i; }
    ConstArg& element(UOp index) {
        return memory_.at(index.src(0).as<ParamArg>().slot).at(static_cast<size_t>(value(index.src(1)).i));
    }
    void store(UOp u) {
        if (!open(u.src(0))) return;
        element(u.src(0)) = value(u.src(1));
        if (reads_.contains(u.src(0).src(0).as<ParamArg>().slot)) totals_.clear();
    }

    /// Those that a reduction is made of and depends on.
    const std::vector<UOp>& ranges_of(UOp reduction) {
        auto [at, added] = ranges_.try_emplace(reduction);
        if (!added) return at->second;
        for (UOp u : toposort(reduction)) {
            if (u.is(Op::range)) at->second.push_back(u);
            if (u.is(Op::load)) reads_.insert(u.src(0).src(0).as<ParamArg>().slot);
        }
        return at->second;
    }

    ConstArg total(UOp u) {
        std::vector<int64_t> at;
        for (UOp range : ranges_of(u)) at.push_back(at_.contains(range) ? at_.at(range) : -1);
        if (auto found = totals_[u].find(at); found != totals_[u].end()) return found->second;
        std::optional<ConstArg> total;
        auto held = at_;
        loop(u.src().subspan(1), [&] {
            ConstArg next = value(u.src(0));
            ConstArg both[] = {total.value_or(next), next};
            total = total ? *reference(u.as<ReduceArg>().op, u.dtype(), u.dtype(), both) : next;
        });
        at_ = held;
        return totals_[u][at] = *total;
    }

    ConstArg value(UOp u) {
        if (u.is_const()) return u.as<ConstArg>();
        if (u.is(Op::range)) return int_value(at_.at(u));
        if (u.is(Op::load)) return open(u.src(0)) ? element(u.src(0)) : value(u.src(1));
        if (u.is(Op::reduce)) return total(u);
        Scalars sources;
        for (UOp s : u.src()) sources.push_back(value(s));
        return *reference(u.op(), u.dtype(), u.src().back().dtype(), sources);
    }

    Memory& memory_;
    std::unordered_map<UOp, int64_t, UOpHash> at_;
    UOpMap<std::vector<UOp>> ranges_;  ///< by reduction
    UOpMap<std::map<std::vector<int64_t>, ConstArg>> totals_;
    std::set<int> reads_;  ///< slots that reductions load from
};

}  // namespace strata::codegen
