// stage: operands of a reduction that several threads of a block read are brought to local memory. Each step of an
// outer loop brings a tile of them, as many elements by each thread.
//
// Before  reduce(value(load(a[offset(outer, inner, threads, ...)])), outer, inner)
// After   in the outer loop: vector = elements of the tile; barrier; local memory = elements of the vector; barrier;
//         value(load(local memory[place(inner, threads, ...)]))
// The first barrier waits for those who still read the tile before; what it fetches is under way until then.
// async_copy: values that memory has in another order than local memory are copied an element at a time, and not put
// together by threads. prefetch (codegen/linear) can then make asynchronous copies of them.
// The instruction reads operands of a product by four waves (MatrixShape::by_warpgroups) there, all steps of the tile:
//   reduce(wmma(contract(load(a)), contract(load(b)), 0), outer, inner) becomes reduce(wmma(local a, local b, 0),
//   outer)
#include <algorithm>
#include <array>
#include <optional>

#include "strata/codegen/kernel/widen.h"
#include "strata/codegen/optimize/accesses_p.h"
#include "strata/codegen/optimize/actions_p.h"
#include "strata/codegen/optimize/stage_p.h"
#include "strata/codegen/optimize/warpgroup_tile_p.h"
#include "strata/codegen/target/ldmatrix.h"
#include "strata/core/symbolic/symbolic.h"

namespace strata::codegen {
namespace {

constexpr int64_t kMostBytes = 128;  // that a thread copies
constexpr int64_t kDwordBytes = 4;   // of a bank

std::vector<UOp> ranges_in(UOp u) {
    std::vector<UOp> found = toposort(u);
    std::erase_if(found, [](UOp x) { return !x.is(Op::range); });
    return found;
}

/// A load and the ranges that its tile has, the fastest in memory first.
struct Operand {
    UOp load;
    std::vector<UOp> tile;
    UOp near;          ///< the one of neighbours in local memory
    int64_t elements;  ///< of the tile
    int64_t wide = 1;  ///< elements that a thread reads at once: neighbours in memory
    int64_t deep = 1;  ///< and neighbours in local memory of each, so that it writes as many at once
    std::optional<WarpgroupTile> by_warpgroups;  ///< where groups of waves multiply what is there
    UOp offset() const { return load.src(0).src(1); }
    int64_t most_at_once() const { return 16 / load.dtype().bytes(); }
};

class Staging {
  public:
    Staging(UOp sink, UOp outer, UOp inner, const Target& target, bool by_elements)
        : sink_(sink),
          outer_(outer),
          inner_(inner),
          scopes_(sink),
          target_(target),
          by_elements_(by_elements),
          next_id_(next_range_id(sink)) {
        if (std::ranges::any_of(ranges(sink), [](UOp r) { return range_arg(r).axis == Axis::lane; }))
            for (const Access& access : accesses_of(scopes_, target.wave_size))
                if (is_scalar(access, target)) scalar_[access.node] = true;
        for (UOp r : ranges(sink))
            if (is_thread(r)) threads_.push_back(r), block_ *= range_arg(r).size;
        // Lanes are the fastest; of others those are that copy neighbours (arrange_threads).
        std::ranges::sort(threads_, {},
                          [](UOp t) { return std::pair(range_arg(t).axis == Axis::lane, range_arg(t).id); });
        has_matrices_ = std::ranges::any_of(toposort(sink), [](UOp u) { return u.is(Op::wmma); });
        for (UOp u : toposort(sink)) {
            if (u.is(Op::param) && u.as<ParamArg>().space != Space::global)
                next_slot_ = std::max(next_slot_, u.as<ParamArg>().slot + 1);
            if (u.is(Op::load))
                if (std::optional<Operand> operand = operand_of(u)) operands_.push_back(*std::move(operand));
        }
    }

    Result<UOp> run() {
        for (const Operand& o : operands_)
            if (const int64_t bytes = copies(o) * o.wide * o.deep * o.load.dtype().bytes(); bytes > kMostBytes)
                return make_error(ErrorKind::Usage, "a thread would copy {} bytes of a tile; the most is {}", bytes,
                                  kMostBytes);
        if (operands_.empty())
            return make_error(ErrorKind::Usage, "no operand is read by several threads of the block in the same step");
        const UOp sums = sums_of_groups();
        WarpgroupProduct product{};
        if (sums) {
            STRATA_TRY(product, warpgroup_tiles(sums.src(0)));
        }
        std::vector<UOp> fetched, stored, memories;
        for (const Operand& o : operands_) fetched.push_back(fetch(o));
        const UOp free = uop::barrier(fetched);
        for (size_t i = 0; i < operands_.size(); ++i) {
            memories.push_back(
                uop::placeholder(size_of(operands_[i]), operands_[i].load.dtype(), Space::local, next_slot_++));
            stored.push_back(store(operands_[i], fetched[i], uop::after(memories[i], {free})));
        }
        const UOp filled = uop::barrier(stored);
        UOpMap<UOp> staged;
        for (size_t i = 0; i < operands_.size(); ++i) {
            const Operand& o = operands_[i];
            const UOp memory = uop::after(memories[i], {filled});
            staged[o.load] = uop::load(uop::at(memory, place(o, o.tile)));
            for (UOp u : toposort(sink_))
                if (u.is(Op::contract) && u.src(0) == o.load && !o.by_warpgroups)
                    if (const UOp read = read_as_matrices(o, memory, u)) staged[u] = read;
        }
        if (sums) staged[sums] = by_warpgroups(sums, product, memories, filled);
        return simplify(substitute(sink_, staged));
    }

  private:
    std::optional<Operand> operand_of(UOp load) const {
        if (scalar_.contains(load)) return {};  // it is in registers that the lanes share
        const UOp index = load.src(0);
        if (!index.src(0).is(Op::param) || index.src(0).as<ParamArg>().space != Space::global) return {};
        for (UOp source : index.src().subspan(1))
            for (UOp u : toposort(source))
                if (u.is(Op::load) && (target_.arch.is_amd() || !is_of_the_block(u))) return {};
        if (load.src().size() > 1 && !load.src(1).is_const()) return {};
        Operand operand{load, {}, {}, 1};
        bool steps = false, shared = false;
        const std::vector<UOp> used = ranges_in(index.src(1));
        if (index.src().size() > 2)
            for (UOp r : ranges_in(index.src(2)))
                if (range_arg(r).axis != Axis::global && !has_one_step(r) && std::ranges::find(used, r) == used.end())
                    return {};
        for (UOp t : threads_) shared |= std::ranges::find(used, t) == used.end();
        std::vector<std::pair<int64_t, UOp>> by_step;
        for (UOp r : used) {
            const RangeArg& arg = range_arg(r);
            const bool around = arg.axis == Axis::global || arg.axis == Axis::loop ||
                                (arg.axis == Axis::reduce && arg.id <= range_arg(outer_).id);
            steps |= r == outer_;
            shared |= arg.axis == Axis::vector;  // from memory each element of a fragment would be a load
            if (around) continue;
            const std::optional<int64_t> step = step_of(index.src(1), r);
            if (!has_matrices_ && (!step || *step <= 0)) return {};
            by_step.emplace_back(step && *step > 0 ? *step : first_step(index.src(1), r), r);
        }
        if (!steps || !shared || by_step.empty()) return {};
        if (std::ranges::any_of(used, [&](UOp r) { return is_walked_within_itself(scopes_, r); })) return {};
        std::ranges::sort(by_step, [](const auto& a, const auto& b) {
            return std::pair(a.first, range_arg(a.second).id) < std::pair(b.first, range_arg(b.second).id);
        });
        for (const auto& [step, r] : by_step) operand.tile.push_back(r), operand.elements *= range_arg(r).size;
        const int64_t together = elements_together(load, used, operand.tile, target_);
        operand.near = near_of(operand);
        choose_copies(operand, together);
        return operand;
    }

    /// The range that a thread reads at once comes first in local memory: elements of a vector, or contiguous results.
    static UOp near_of(const Operand& o) {
        auto found = std::ranges::find(o.tile, Axis::vector, [](UOp r) { return range_arg(r).axis; });
        if (found == o.tile.end()) found = std::ranges::find_if_not(o.tile, is_step);
        return found == o.tile.end() ? o.tile[0] : *found;
    }

    /// As many as go into one access each, as long as there is work for all threads.
    void choose_copies(Operand& o, int64_t together) const {
        const auto fits = [&](int64_t n) { return o.elements % n == 0 && o.elements / n >= block_; };
        while (o.wide < o.most_at_once() && together % (2 * o.wide) == 0 && fits(2 * o.wide)) o.wide *= 2;
        if (o.near == o.tile[0] || in_both_sides(o)) return;
        if (by_elements_) return void(o.wide = 1);
        const int64_t size = range_arg(o.near).size;
        while (o.deep < o.most_at_once() && size % (2 * o.deep) == 0) {
            if (!fits(2 * o.deep * o.wide) && o.wide > o.deep) o.wide /= 2;
            if (!fits(2 * o.deep * o.wide)) break;
            o.deep *= 2;
        }
        // Each of a thread's neighbours in memory is a row of its own in local memory. Where a thread's rows are more
        // than one access, those that lanes write at once are several apart, in fewer banks.
        while (o.deep * o.wide > o.most_at_once() && o.wide > 1 && o.wide * o.load.dtype().bytes() > kDwordBytes)
            o.wide /= 2;
    }
    int64_t copies(const Operand& o) const {
        const int64_t at_once = block_ * o.wide * o.deep;
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

    /// The ranges of one copy; none where there is one step.
    struct Copy {
        UOp copy, wide, deep;
        std::vector<UOp> list() const {
            std::vector<UOp> out{copy, wide, deep};
            std::erase_if(out, [](UOp r) { return !r; });
            return out;
        }
    };
    Copy new_copy(const Operand& o, Axis axis) {
        const auto steps = [&](int64_t n) { return n > 1 ? uop::range(n, next_id_++, axis) : UOp(); };
        const int64_t n = copies(o);
        return {steps(n), steps(o.wide), steps(o.deep)};
    }

    /// The element of a copy: the values of the tile's ranges.
    struct Element {
        std::vector<UOp> at;
        UOp predicate;  ///< none: it is always one of the tile's
    };
    Element element(const Operand& o, const Copy& copy) const {
        const int64_t chunks = o.elements / (o.wide * o.deep);
        const UOp chunk = with_digit(copy.copy, block_, thread_number());
        Element out{{}, chunks % block_ ? chunk < chunks : UOp()};
        UOp rest = copy.wide ? chunk * o.wide + copy.wide : chunk;
        for (size_t i = 0; i < o.tile.size(); ++i) {
            const UOp range = o.tile[i];
            const int64_t size = range_arg(range).size / (range == o.near ? o.deep : 1);
            const UOp digit = i + 1 == o.tile.size() ? rest : rest % size;
            out.at.push_back(range == o.near && copy.deep ? digit * o.deep + copy.deep : digit);
            rest = rest / size;
        }
        return out;
    }
    static UOp with_digit(UOp high, int64_t size, UOp low) {
        if (!high) return low ? low : index_const(0);
        const UOp shifted = size > 1 ? high * size : high;
        return low ? shifted + low : shifted;
    }
    static UOp number(const Operand& o, const Copy& copy) {
        return with_digit(with_digit(copy.copy, o.wide, copy.wide), o.deep, copy.deep);
    }

    /// A thread's read from memory, as a vector.
    UOp fetch(const Operand& o) {
        const Copy copy = new_copy(o, Axis::vector);
        const Element from = element(o, copy);
        UOpMap<UOp> values;
        for (size_t i = 0; i < o.tile.size(); ++i) values[o.tile[i]] = from.at[i];
        const UOp index = o.load.src(0);
        UOp predicate = from.predicate;
        if (index.src().size() > 2) {
            for (UOp r : ranges_in(index.src(2)))
                if (has_one_step(r)) values[r] = index_const(0);
            predicate = uop::both(predicate, simplify(substitute(index.src(2), values)));
        }
        const UOp place = uop::at(index.src(0), simplify(substitute(o.offset(), values)), predicate);
        return uop::contract(uop::load(place, o.load.src().size() > 1 ? o.load.src(1) : UOp()), copy.list());
    }

    /// The vector to local memory.
    UOp store(const Operand& o, UOp fetched, UOp memory) {
        const Copy copy = new_copy(o, Axis::upcast);
        const Element to = element(o, copy);
        const UOp value = fetched.dtype().lanes > 1 ? uop::element(fetched, number(o, copy)) : fetched;
        return uop::end(uop::store(uop::at(memory, simplify(place(o, to.at)), to.predicate), value), copy.list());
    }

    /// Where an element of a tile is in local memory.
    UOp place(const Operand& o, std::span<const UOp> values) const {
        if (o.by_warpgroups) return o.by_warpgroups->place(values);
        UOp sum;
        for (size_t i = 0; i < o.tile.size(); ++i) {
            const int64_t pitch = pitch_of(o, o.tile[i]);
            const UOp term = pitch == 1 ? values[i] : values[i] * pitch;
            sum = sum ? sum + term : term;
        }
        return sum;
    }
    /// True if lanes have parts of both sides of the tile, as NVIDIA's matrix instructions want it.
    bool in_both_sides(const Operand& o) const {
        return !target_.arch.is_amd() && std::ranges::count_if(o.tile, is_lane) > 1;
    }

    /// Such a tile: what is together in memory is a row, and rows that lanes read at once come first. They are as far
    /// apart as to be in other banks: an odd number of times what lanes read of each.
    int64_t pitch_in_rows(const Operand& o, UOp range) const {
        int64_t row = 1, read = 1;  // elements of a row; that lanes read at once
        std::vector<UOp> rows;
        for (UOp r : o.tile) {
            if (step_of(o.offset(), r) != row) {
                rows.push_back(r);
                continue;
            }
            if (r == range) return row;
            row *= range_arg(r).size;
            if (is_lane(r)) read = row;
        }
        const int64_t least = o.most_at_once(), apart = std::max(read, least), times = (row + apart - 1) / apart;
        int64_t pitch = apart * (times % 2 ? times : times + 1);
        for (bool lanes : {true, false})
            for (UOp r : rows) {
                if (r == range && is_lane(r) == lanes) return pitch;
                if (is_lane(r) == lanes) pitch *= range_arg(r).size;
            }
        return pitch;
    }
    /// Such a tile's part that a lane holds, by an instruction that takes rows of 16 bytes from lanes; empty where its
    /// rows are others.
    UOp read_as_matrices(const Operand& o, UOp memory, UOp contract) const {
        if (target_.ahead != Ahead::copies || !in_both_sides(o) || contract.src().size() != 4) return {};
        const UOp far = contract.src(1), high = contract.src(2), near = contract.src(3);  // of an element's number
        const UOp row = threads_[threads_.size() - 2], in_row = threads_.back();          // of the lane's
        const int64_t wide = o.most_at_once(), together = wide / 4;
        const auto pitch = [&](UOp r) { return pitch_of(o, r); };
        const auto starts = [&](UOp r) { return pitch(r) % wide == 0; };
        const bool rows = pitch(in_row) == together && (together == 1 || pitch(near) == 1) && starts(row);
        const bool columns = wide == 8 && pitch(row) == 1 && starts(in_row) && starts(near);
        if (!rows && !columns) return {};
        for (UOp r : o.tile)
            if (r != row && r != in_row && r != near && !starts(r)) return {};
        UOpMap<UOp> at{{far, row / 4}, {high, row / 2 % 2}};
        const UOp of_matrix = row % 2 * 4 + in_row;
        at[row] = rows ? of_matrix : index_const(0);
        at[in_row] = rows ? index_const(0) : of_matrix / 2;
        at[near] = rows ? index_const(0) : of_matrix % 2;
        const UOp start = uop::at(memory, simplify(substitute(place(o, o.tile), at)));
        const UOp lanes_row = make(Op::load, contract.dtype(), {start});
        return uop::wmma(std::string(rows ? kReadRows : kReadColumns), lanes_row, lanes_row, lanes_row);
    }
    static bool is_lane(UOp range) { return range_arg(range).axis == Axis::lane; }

    /// The sums of products that groups of waves compute; none elsewhere.
    UOp sums_of_groups() const {
        for (UOp u : toposort(sink_))
            if (u.is(Op::reduce) && u.src(0).is(Op::wmma))
                if (const MatrixShape* shape = find_shape(target_.matrix, u.src(0).as<MatrixArg>().name);
                    shape && shape->by_warpgroups)
                    return u;
        return {};
    }
    /// Gives both operands of the product the tiles that groups of waves read.
    Result<WarpgroupProduct> warpgroup_tiles(UOp product) {
        std::array<SwizzledTile, 2> layouts;
        const UOp wave = threads_.size() == 3 ? threads_[0] : UOp();
        for (size_t i : {0, 1}) {
            const UOp held = product.src(static_cast<int>(i));
            const auto o = std::ranges::find(operands_, held.src(0), &Operand::load);
            const bool is_a = i == 0;
            const auto whose = [&] { return is_a ? "A" : "B"; };
            if (!wave || range_arg(wave).size % kWavesOfWarpgroup)
                return make_error(ErrorKind::Usage,
                                  "groups of {} waves that multiply want as many along the rows, no other threads",
                                  kWavesOfWarpgroup);
            const GroupRanges mean{threads_[1], held.src(is_a ? 2 : 1), wave,
                                   threads_[2], held.src(is_a ? 1 : 2), inner_};
            if (o != operands_.end() && is_a == (std::ranges::find(o->tile, wave) != o->tile.end()))
                o->by_warpgroups = WarpgroupTile::of(o->offset(), o->tile, mean, o->most_at_once());
            if (o == operands_.end() || !o->by_warpgroups)
                return make_error(ErrorKind::Usage,
                                  "groups of waves multiply tiles of {} bytes along memory of {}: take other steps",
                                  kSwizzledRow, whose());
            layouts[i] = o->by_warpgroups->layout();
        }
        return WarpgroupProduct{inner_ ? range_arg(inner_).size : 1, layouts[0], layouts[1]};
    }
    /// The sums of the whole tile's products, by instructions that four waves start at the first one's rows.
    UOp by_warpgroups(UOp sums, const WarpgroupProduct& product, std::span<const UOp> memories, UOp filled) const {
        const UOp wmma = sums.src(0);
        std::array<UOp, 2> from;
        for (int i : {0, 1}) {
            const auto o = std::ranges::find(operands_, wmma.src(i).src(0), &Operand::load);
            UOpMap<UOp> first;
            for (UOp r : o->tile) first[r] = index_const(0);
            const UOp wave = threads_[0];
            if (first.contains(wave)) first[wave] = wave / kWavesOfWarpgroup * kWavesOfWarpgroup;
            const UOp memory = uop::after(memories[static_cast<size_t>(o - operands_.begin())], {filled});
            const UOp start = uop::at(memory, simplify(substitute(place(*o, o->tile), first)));
            from[static_cast<size_t>(i)] =
                make(Op::load, o->load.dtype().vector(static_cast<int>(o->most_at_once())), {start});
        }
        std::vector<UOp> sources{uop::wmma(name_of(wmma.as<MatrixArg>().name, product), from[0], from[1], wmma.src(2))};
        for (UOp r : sums.src().subspan(1))
            if (r != inner_) sources.push_back(r);
        return make(Op::reduce, sums.dtype(), sources, sums.as<ReduceArg>());
    }

    /// The near range comes first and steps of loops come last, each a padded row from the next. In between, and among
    /// steps, ranges are in their order in memory.
    int64_t pitch_of(const Operand& o, UOp range) const {
        if (in_both_sides(o)) return pitch_in_rows(o, range);
        if (range == o.near) return 1;
        int64_t row = range_arg(o.near).size, steps = 1;
        bool before = true;
        for (UOp r : o.tile) {
            before &= r != range;
            if (r == o.near) continue;
            if (!is_step(r) && (before || is_step(range))) row *= range_arg(r).size;
            if (is_step(r) && before) steps *= range_arg(r).size;
        }
        const bool is_run = o.near == o.tile[0] && o.wide == o.most_at_once();  // that a thread copies
        const int64_t apart = is_run ? step_padding(o.tile, o.wide) : o.most_at_once();
        return is_step(range) ? steps * (row > 1 ? row + apart : 1) : row;
    }
    int64_t size_of(const Operand& o) const {
        if (o.by_warpgroups) return o.by_warpgroups->size();
        int64_t last = 1;
        for (UOp r : o.tile) last += (range_arg(r).size - 1) * pitch_of(o, r);
        return last;
    }

    UOp sink_, outer_, inner_;
    const Scopes scopes_;
    const Target& target_;
    bool by_elements_, has_matrices_ = false;
    std::vector<UOp> threads_;  // the fastest last
    std::vector<Operand> operands_;
    UOpMap<bool> scalar_;
    int64_t block_ = 1;
    int next_id_, next_slot_ = 0;
};

Result<Kernel> stage_by(const Site& site, bool by_elements) {
    const RangeArg& r = range_arg(site.range());
    if (site.amount < 1 || r.size % site.amount != 0 || r.size == site.amount)
        return make_error(ErrorKind::Usage, "cannot make tiles of {} of a range of {}", site.amount, r.size);
    UOp sink = site.kernel.sink, outer = site.range(), inner;
    if (site.amount > 1) {
        inner = uop::range(site.amount, next_range_id(sink), r.axis);
        outer = uop::range(r.size / site.amount, r.id, r.axis);
        sink = simplify(replace_range(sink, site.range(), outer * site.amount + inner, std::array{outer, inner}));
    }
    STRATA_TRY(UOp staged, Staging(sink, outer, inner, site.target, by_elements).run());
    return Kernel{staged, site.kernel.name};
}

}  // namespace

namespace actions {

Result<Kernel> stage(const Site& site) { return stage_by(site, false); }

Result<Kernel> async_copy(const Site& site) {
    constexpr int kNarrowest = 4;  // bytes of a copy: PTX ISA, "cp.async"
    if (site.target.ahead != Ahead::copies)
        return make_error(ErrorKind::Usage, "copies of {} do not go on by themselves", site.target.arch.name());
    for (UOp u : toposort(site.kernel.sink))
        if (u.is(Op::load) && u.dtype().element().bytes() < kNarrowest)
            return make_error(ErrorKind::Usage, "a copy that goes on by itself is of {} bytes at least, and {} has {}",
                              kNarrowest, u.dtype().element().name(), u.dtype().element().bytes());
    return stage_by(site, true);
}

}  // namespace actions
}  // namespace strata::codegen
