// stage: operands of a reduction that several threads of a block read are brought to local memory, a tile of them for each
// step of an outer loop, as many elements by each thread.
//
// Before  reduce(value(load(a[offset(outer, inner, threads, ...)])), outer, inner)
// After   in the outer loop: registers = elements of the tile, side by side in memory; barrier; local memory = registers;
//         barrier; value(load(local memory[place(inner, threads, ...)]))
// The first barrier waits for those who still read the tile before.
#include <algorithm>
#include <array>
#include <optional>

#include "strata/codegen/optimize/actions_p.h"
#include "strata/core/symbolic/symbolic.h"
#include "strata/core/uop/kernel.h"

namespace strata::codegen {
namespace {

constexpr int64_t kWide = 4;         // elements that a thread copies at once
constexpr int64_t kPadding = 4;      // elements between rows of a tile, against conflicts of banks
constexpr int64_t kMostCopies = 16;  // of such a thread

std::vector<UOp> ranges_in(UOp u) {
    std::vector<UOp> found = toposort(u);
    std::erase_if(found, [](UOp x) { return !x.is(Op::range); });
    return found;
}

std::optional<int64_t> step_of(UOp offset, UOp range) {
    UOp step = simplify(substitute(offset, {{range, index_const(1)}}) - substitute(offset, {{range, index_const(0)}}));
    return step.is_const() ? std::optional(const_int(step)) : std::nullopt;
}

bool is_thread(UOp range) { return range_arg(range).axis == Axis::local || range_arg(range).axis == Axis::group; }

/// Steps of loops, which are far from each other in local memory: what threads, and a thread's copies, read at once is near.
bool is_step(UOp range) { return range_arg(range).axis == Axis::reduce || range_arg(range).axis == Axis::unroll; }

/// A load and the ranges that its tile has, the fastest in memory first.
struct Operand {
    UOp load;
    std::vector<UOp> tile;
    int64_t elements = 1;
    UOp offset() const { return load.src(0).src(1); }
};

class Staging {
  public:
    Staging(UOp sink, UOp outer) : sink_(sink), outer_(outer) {
        for (UOp r : ranges(sink)) {
            next_id_ = std::max(next_id_, range_arg(r).id + 1);
            if (is_thread(r)) threads_.push_back(r), block_ *= range_arg(r).size;
        }
        for (UOp u : toposort(sink)) {
            if (u.is(Op::param) && u.as<ParamArg>().space != Space::global)
                next_slot_ = std::max(next_slot_, u.as<ParamArg>().slot + 1);
            if (u.is(Op::load))
                if (std::optional<Operand> operand = operand_of(u)) operands_.push_back(*std::move(operand));
        }
    }

    Result<UOp> run() {
        if (operands_.empty())
            return make_error(ErrorKind::Usage, "no operand is read by several threads of the block in the same step");
        std::vector<UOp> fetched, registers;
        for (const Operand& o : operands_) fetched.push_back(fetch(o, registers));
        const UOp free = uop::barrier(fetched);
        std::vector<UOp> stored, memories;
        for (size_t i = 0; i < operands_.size(); ++i) {
            memories.push_back(
                uop::placeholder(size_of(operands_[i]), operands_[i].load.dtype(), Space::local, next_slot_++));
            stored.push_back(store(operands_[i], uop::after(registers[i], {free}), uop::after(memories[i], {free})));
        }
        const UOp filled = uop::barrier(stored);
        UOpMap<UOp> staged;
        for (size_t i = 0; i < operands_.size(); ++i)
            staged[operands_[i].load] =
                uop::load(uop::at(uop::after(memories[i], {filled}), place(operands_[i], operands_[i].tile)));
        return simplify(substitute(sink_, staged));
    }

  private:
    std::optional<Operand> operand_of(UOp load) const {
        const UOp index = load.src(0);
        if (!index.src(0).is(Op::param) || index.src(0).as<ParamArg>().space != Space::global || index.src().size() > 2)
            return {};
        for (UOp u : toposort(index.src(1)))
            if (u.is(Op::load)) return {};
        Operand operand{load, {}};
        bool steps = false, shared = false;
        const std::vector<UOp> used = ranges_in(index.src(1));
        for (UOp t : threads_) shared |= std::ranges::find(used, t) == used.end();
        std::vector<std::pair<int64_t, UOp>> by_step;
        for (UOp r : used) {
            const RangeArg& arg = range_arg(r);
            const bool around = arg.axis == Axis::global || arg.axis == Axis::loop ||
                                (arg.axis == Axis::reduce && arg.id <= range_arg(outer_).id);
            steps |= r == outer_;
            if (around) continue;
            const std::optional<int64_t> step = step_of(index.src(1), r);
            if (!step || *step <= 0) return {};
            by_step.emplace_back(*step, r);
        }
        if (!steps || !shared || by_step.empty()) return {};
        std::ranges::sort(by_step, [](const auto& a, const auto& b) {
            return std::pair(a.first, range_arg(a.second).id) < std::pair(b.first, range_arg(b.second).id);
        });
        for (const auto& [step, r] : by_step) operand.tile.push_back(r), operand.elements *= range_arg(r).size;
        if (copies(operand) > kMostCopies) return {};
        return operand;
    }

    /// Elements that a thread copies at once.
    static int64_t width(const Operand& o) {
        const bool along = step_of(o.offset(), o.tile[0]) == 1 && range_arg(o.tile[0]).size % kWide == 0;
        return along ? kWide : 1;
    }
    int64_t copies(const Operand& o) const {
        const int64_t at_once = block_ * width(o);
        return (o.elements + at_once - 1) / at_once;
    }

    UOp thread_number() const {
        UOp number;
        int64_t stride = 1;
        for (auto r = threads_.rbegin(); r != threads_.rend(); ++r) {
            const UOp term = stride == 1 ? *r : *r * stride;
            number = number ? number + term : term;
            stride *= range_arg(*r).size;
        }
        return number;
    }

    /// The element of a copy: the values of the tile's ranges.
    struct Element {
        std::vector<UOp> at;
        UOp gate;  ///< none: it is always one of the tile's
    };
    Element element(const Operand& o, UOp copy, UOp part) const {
        const int64_t wide = width(o);
        UOp rest = copy ? copy * block_ + thread_number() : thread_number();
        Element out{{}, o.elements % (block_ * wide) ? rest < o.elements / wide : UOp()};
        for (size_t i = 0; i < o.tile.size(); ++i) {
            const int64_t size = range_arg(o.tile[i]).size / (i == 0 ? wide : 1);
            UOp digit = i + 1 == o.tile.size() ? rest : rest % size;
            if (i == 0 && part) digit = digit * wide + part;
            out.at.push_back(digit);
            rest = rest / size;
        }
        return out;
    }

    struct Copy {
        UOp copy, part;  ///< ranges; none where there is one step
        std::vector<UOp> list() const {
            std::vector<UOp> out;
            if (copy) out.push_back(copy);
            if (part) out.push_back(part);
            return out;
        }
    };
    Copy new_copy(const Operand& o) {
        Copy out;
        if (const int64_t n = copies(o); n > 1) out.copy = uop::range(n, next_id_++, Axis::upcast);
        if (const int64_t n = width(o); n > 1) out.part = uop::range(n, next_id_++, Axis::upcast);
        return out;
    }
    UOp number(const Operand& o, const Copy& copy) const {
        UOp n = copy.copy ? copy.copy * width(o) : UOp();
        if (copy.part) n = n ? n + copy.part : copy.part;
        return n ? n : index_const(0);
    }

    /// Memory to registers.
    UOp fetch(const Operand& o, std::vector<UOp>& registers) {
        const Copy copy = new_copy(o);
        registers.push_back(uop::placeholder(copies(o) * width(o), o.load.dtype(), Space::reg, next_slot_++));
        const Element from = element(o, copy.copy, copy.part);
        UOpMap<UOp> values;
        for (size_t i = 0; i < o.tile.size(); ++i) values[o.tile[i]] = from.at[i];
        const UOp index = o.load.src(0);
        const UOp value = uop::load(uop::at(index.src(0), simplify(substitute(o.offset(), values)), from.gate));
        const UOp to = uop::at(uop::after(registers.back(), {outer_}), number(o, copy));
        return uop::end(uop::store(to, value), copy.list());
    }

    /// Registers to local memory.
    UOp store(const Operand& o, UOp registers, UOp memory) {
        const Copy copy = new_copy(o);
        const Element to = element(o, copy.copy, copy.part);
        const UOp value = uop::load(uop::at(registers, number(o, copy)));
        return uop::end(uop::store(uop::at(memory, simplify(place(o, to.at)), to.gate), value), copy.list());
    }

    /// Where an element of a tile is in local memory.
    UOp place(const Operand& o, std::span<const UOp> values) const {
        UOp sum;
        for (size_t i = 0; i < o.tile.size(); ++i) {
            const int64_t pitch = pitch_of(o, o.tile[i]);
            const UOp term = pitch == 1 ? values[i] : values[i] * pitch;
            sum = sum ? sum + term : term;
        }
        return sum;
    }
    /// The tile's ranges are in their order in memory, but steps of loops come last, each a padded row from the next.
    static int64_t pitch_of(const Operand& o, UOp range) {
        int64_t pitch = 1, row = 1;
        for (UOp r : o.tile)
            if (!is_step(r)) row *= range_arg(r).size;
        for (UOp r : o.tile) {
            if (r == range) break;
            if (is_step(r) == is_step(range)) pitch *= range_arg(r).size;
        }
        return is_step(range) ? pitch * (row > 1 ? row + kPadding : 1) : pitch;
    }
    static int64_t size_of(const Operand& o) {
        int64_t last = 1;
        for (UOp r : o.tile) last += (range_arg(r).size - 1) * pitch_of(o, r);
        return last;
    }

    UOp sink_, outer_;
    std::vector<UOp> threads_;
    std::vector<Operand> operands_;
    int64_t block_ = 1;
    int next_id_ = 0, next_slot_ = 0;
};

}  // namespace

namespace actions {

Result<Kernel> stage(const Site& site) {
    const RangeArg& r = range_arg(site.range());
    if (site.amount < 1 || r.size % site.amount != 0 || r.size == site.amount)
        return make_error(ErrorKind::Usage, "cannot make tiles of {} of a range of {}", site.amount, r.size);
    UOp sink = site.kernel.sink, outer = site.range();
    if (site.amount > 1) {
        int id = 0;
        for (UOp other : ranges(sink)) id = std::max(id, range_arg(other).id + 1);
        const UOp inner = uop::range(site.amount, id, r.axis);
        outer = uop::range(r.size / site.amount, r.id, r.axis);
        sink = simplify(replace_range(sink, site.range(), outer * site.amount + inner, std::array{outer, inner}));
    }
    STRATA_TRY(UOp staged, Staging(sink, outer).run());
    return Kernel{staged, site.kernel.name};
}

}  // namespace actions
}  // namespace strata::codegen
