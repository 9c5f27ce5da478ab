// fuse_siblings: sibling fusion. Values of the same loops that read the same memory, or each other, are computed by one
// kernel.
//
// Before  m <- min(x, 1);  n <- max(x, 1);  d <- n - m
// After   m, n, d <- one kernel, in which d reads neither m nor n; what nothing else reads is not stored any more
// A value joins the step of one before it when all that it reads is there by then. It costs less: what both read is
// read once, what it read of the other is not read, and a launch is saved. Products share the operand that they have in
// registers, as long as these hold a tile of each. Matrix instructions have one result, so their operands are joined
// only where they are small. A kernel that takes less time than its launch joins others of equal loops even without
// shared inputs.
//
// Before  s <- sum of each row of x;  y <- x / s, a row at a time      only y reads s
// After   y <- x / sum of each row of x
// Results of rows that one step alone reads, which walks the same rows, are computed there.
#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "strata/codegen/schedule/attention.h"
#include "strata/codegen/schedule/plan_p.h"
#include "strata/codegen/schedule/product_chains.h"
#include "strata/core/uop/uop_set.h"

namespace strata::codegen {
namespace {

constexpr size_t kMostOutputs = 12;
constexpr size_t kMostBuffers = 32;
constexpr double kLittleOfCard = 65536;  // a part of its memory that may be kept longer for a launch less
constexpr int kMostWork = 1000;
constexpr int kLittleWork = 64;  // for each thread of a row what was done once
constexpr size_t kScans = 2;     // of a kernel that share nothing: a launch less
constexpr size_t kTried = 4;     // steps before it with results of its shape, the latest first
constexpr int64_t kAgain = 4;    // reads of an element from which on a reduction is a product
// Measured on the modelled 7900 XTX, float32, three products of 128 to 2048 rows as one kernel. It takes .48 to .61 of
// the time of three as long as tiles are small, 1.4 to 2.7 of it where they are large. Two take .65 to .81 in either
// case.
constexpr int64_t kSideOfTiles = 16;                // of matrix instructions
constexpr size_t kLargeTiles = 2, kSmallTiles = 3;  // products of a kernel
constexpr int64_t kLargeFrom = 1 << 19;             // results from which on tiles are large
constexpr int64_t kMostTerms = int64_t{1} << 32;

/// The form of a kernel of some bodies.
struct Form {
    std::vector<UOp> loops;    ///< reductions and scans, one of each shape and axes
    std::vector<UOp> buffers;  ///< read
    int work = 0;
    bool scans = false;
    int64_t terms = 0;  ///< that reductions take in
    size_t reductions = 0;
    bool multiplies_matrices = false;  ///< by matrix instructions, which compute one product of a kernel
    int64_t results = 0;               ///< of one
    double bytes = 0;                  ///< of what is read, and of the bodies

    bool is_product() const {
        int64_t elements = 0;
        for (UOp b : buffers) elements += b.numel();
        return terms > kAgain * elements;
    }
};

double bytes_in(UOp u) { return static_cast<double>(u.numel() * u.dtype().bytes()); }

Form form_of(std::span<const UOp> bodies, const CostModel& costs) {
    Form form;
    for (UOp body : bodies) form.bytes += bytes_in(body);
    for (UOp u : in_order(bodies)) {
        form.work += info(u.op()).cost;
        if (u.is(Op::buffer)) form.buffers.push_back(u), form.bytes += bytes_in(u);
        form.scans |= u.is(Op::scan);
        if (!u.is(Op::reduce) && !u.is(Op::scan)) continue;
        form.terms += u.src(0).numel();
        form.multiplies_matrices |= bool(matrix_product_of(u, costs));
        ++form.reductions, form.results = u.numel();
        if (std::ranges::none_of(form.loops, [&](UOp l) { return same_loops(l, u); })) form.loops.push_back(u);
    }
    return form;
}

/// True if each element of the users of `value` takes that one element of it, or all of its row.
bool stays_in_place(UOp root, UOp value, const Form& form) {
    UOpSet made{value};
    for (UOp u : toposort(root)) {
        for (UOp s : u.src()) {
            if (!made.contains(s) || u == value) continue;
            const bool folds = u.is(Op::reduce) || u.is(Op::scan);
            const auto is_row = [&](UOp loop) { return folds ? same_loops(u, loop) : widens_results(u, loop); };
            const bool same =
                (info(u.op()).elementwise() || u.is(Op::contiguous) || u.is(Op::expand)) && u.numel() == s.numel();
            const bool row = (folds || u.is(Op::expand)) && !form.scans && std::ranges::any_of(form.loops, is_row);
            if (!same && !keeps_results(u) && !row) return false;
            made.insert(u);
        }
    }
    return true;
}

class Joining {
  public:
    Joining(std::vector<ScheduleItem> items, std::span<const UOp> roots, const Policy& policy)
        : items_(std::move(items)), policy_(policy) {
        for (UOp root : roots) kept_.insert(buffer_under(root));
    }

    std::vector<ScheduleItem> run() {
        if (items_.size() < 2) return std::move(items_);
        for (size_t i = 0; i < items_.size(); ++i) place(i);
        find_readers();
        for (size_t i = 0; i < items_.size(); ++i) take_in(i);
        if (joined_) drop_unread();
        std::erase_if(items_, [](const ScheduleItem& item) { return !item.output; });
        return std::move(items_);
    }

  private:
    void place(size_t i) {
        ScheduleItem& item = items_[i];
        made_at_[item.output] = i;
        if (item.body.is(Op::custom)) {  // it may write to what was read before
            first_ = i + 1;
            return;
        }
        if (whole_buffer(item.body)) return;
        std::vector<size_t>& before = by_shape_[without_ones(item.body.shape())];
        for (size_t tried = 0; tried < std::min(before.size(), kTried); ++tried) {
            const size_t host = before[before.size() - 1 - tried];
            if (host < first_ || !join(host, item)) continue;
            made_at_[item.output] = host;
            item = {};
            joined_ = true;
            return;
        }
        before.push_back(i);
    }

    /// The body with those of other values in place of their buffers.
    static UOp with_bodies(UOp body, const ScheduleItem& host) {
        const std::vector<UOp> outputs = host.outputs(), bodies = host.bodies();
        const auto body_of = [&](UOp u) {
            const auto at = std::ranges::find(outputs, u);
            return at == outputs.end() ? UOp() : bodies[static_cast<size_t>(at - outputs.begin())];
        };
        const auto shaped = [](UOp u, const Shape& shape) {
            return u.shape() == shape ? u : make(Op::reshape, u.dtype(), {u}, ShapeArg{shape});
        };
        return rebuild(body, [&](UOp u, std::span<const UOp> sources) {
            if (UOp value = body_of(u)) return shaped(value, u.shape());
            UOp value = u.is(Op::reshape) ? body_of(u.src(0)) : UOp();
            return value ? shaped(value, u.shape()) : u.with_src(sources);
        });
    }

    bool join(size_t at, const ScheduleItem& item) {
        ScheduleItem& host = items_[at];
        if (host.beside.size() + 1 >= kMostOutputs) return false;
        const std::vector<UOp> bodies = host.bodies();
        const Form of_host = form_of(bodies, policy_.costs);
        bool reads_host = false;
        const Form alone = form_of(std::span(&item.body, 1), policy_.costs);
        for (UOp b : alone.buffers) {
            const auto made = made_at_.find(b);
            if (made == made_at_.end()) continue;
            if (made->second > at) return false;
            if (made->second == at && !can_be_seen_through(host, b)) return false;
            reads_host |= made->second == at;
        }
        const UOp body = reads_host ? with_bodies(item.body, host) : item.body;
        std::vector<UOp> all = bodies;
        const Shape& shape = host.body.shape();
        all.push_back(body.shape() == shape ? body : make(Op::reshape, body.dtype(), {body}, ShapeArg{shape}));
        const Form joined = form_of(all, policy_.costs);
        if (reads_host)
            for (UOp value : bodies)
                if (!stays_in_place(body, value, joined)) return false;
        if (!fits(joined, all) || !pays(of_host, alone, joined, reads_host, may_be_early(item))) return false;
        host.beside.push_back({item.output, all.back(), item.why});
        return true;
    }

    /// Computes a step where it is read, if that is in one step and rows are walked there.
    void take_in(size_t at) {
        const ScheduleItem& host = items_[at];
        if (policy_.fusion == Fusion::less || !host.output || host.body.is(Op::custom)) return;
        for (UOp output : host.outputs())
            if (kept_.contains(output) || !can_be_seen_through(host, output)) return;
        const std::optional<size_t> reader = only_reader(at);
        if (!reader) return;
        for (size_t i = at + 1; i <= *reader; ++i)  // a custom one may write to what was read before
            if (items_[i].output && items_[i].body.is(Op::custom)) return;
        ScheduleItem& to = items_[*reader];
        std::vector<UOp> bodies;
        for (UOp body : to.bodies()) bodies.push_back(with_bodies(body, host));
        const Form rows = form_of(bodies, policy_.costs);
        if (rows.loops.empty() || rows.is_product() || !fits(rows, bodies)) return;
        const Form alone = form_of(host.bodies(), policy_.costs);
        if (alone.loops.empty() && alone.work > kLittleWork) return;
        std::vector<UOp> values = host.bodies();
        for (UOp u : in_order(host.bodies()))
            if (u.is(Op::reduce) || u.is(Op::scan)) values.push_back(u);
        for (UOp body : bodies)
            for (UOp value : values)
                if (!stays_in_place(body, value, rows)) return;
        to.body = bodies[0];
        for (size_t i = 1; i < bodies.size(); ++i) to.beside[i - 1].body = bodies[i];
        for (UOp u : in_order(host.bodies()))
            if (u.is(Op::buffer)) readers_[u].insert(*reader);
        for (UOp u : in_order(host.bodies()))
            if (u.is(Op::buffer)) readers_[u].erase(at);
        items_[at] = {};
    }

    void find_readers() {
        for (size_t i = 0; i < items_.size(); ++i)
            if (items_[i].output)
                for (UOp u : in_order(items_[i].bodies()))
                    if (u.is(Op::buffer)) readers_[u].insert(i);
    }

    /// The step that reads what this one fills; none: there are several.
    std::optional<size_t> only_reader(size_t at) const {
        std::set<size_t> all;
        for (UOp output : items_[at].outputs())
            if (const auto found = readers_.find(output); found != readers_.end())
                all.insert(found->second.begin(), found->second.end());
        return all.size() == 1 ? std::optional(*all.begin()) : std::nullopt;
    }

    /// A value that must be in memory by itself is read from there.
    static bool can_be_seen_through(const ScheduleItem& host, UOp output) {
        if (host.output == output) return host.why != Reason::own;
        const auto other = std::ranges::find(host.beside, output, &ScheduleItem::output);
        return other != host.beside.end() && other->why != Reason::own;
    }

    bool fits(const Form& joined, std::span<const UOp> bodies) const {
        if (joined.loops.size() > 1 || joined.buffers.size() + bodies.size() > kMostBuffers || joined.work > kMostWork)
            return false;
        if (joined.loops.empty()) return true;
        const Shape& row = joined.loops[0].src(0).shape();
        const bool loops = std::ranges::all_of(bodies, [&](UOp body) {
            if (without_ones(body.shape()) == without_ones(row)) return body.shape() == row;
            return !form_of(std::span(&body, 1), policy_.costs).loops.empty();
        });
        const std::vector<UOp> order = in_order(bodies);
        return loops && find_attention(order).empty() && find_product_chains(order).empty();
    }

    bool pays(const Form& a, const Form& b, const Form& joined, bool reads_host, bool early) const {
        if (policy_.fusion == Fusion::less || (joined.multiplies_matrices && joined.reductions > 1)) return false;
        int64_t shared = 0, read = 0;
        for (UOp u : b.buffers) {
            read += u.numel();
            if (std::ranges::find(a.buffers, u) != a.buffers.end()) shared += u.numel();
        }
        if (reads_host || (a.scans && b.scans && joined.reductions <= kScans)) return true;
        const bool few = shared > 0 && joined.terms <= kMostTerms &&
                         joined.reductions <= (joined.results < kLargeFrom ? kSmallTiles : kLargeTiles);
        if (a.is_product() && b.is_product()) return few && !is_for_matrices(joined);
        return 4 * shared >= read || (few && !joined.loops.empty()) ||
               (early && !a.scans && !a.is_product() && is_launch(b));
    }

    /// True if it matters little when a value is made: it is a result, or small.
    bool may_be_early(const ScheduleItem& item) const {
        return kept_.contains(item.output) || bytes_in(item.body) * kLittleOfCard <= policy_.costs.card_bytes();
    }

    /// True if a launch takes longer than the memory of a kernel: beside another one it costs less, whatever that
    /// reads.
    bool is_launch(const Form& form) const {
        return !form.scans && !form.is_product() && policy_.costs.memory(form.bytes) < policy_.costs.launch();
    }

    /// True if matrix instructions multiply each of several products in less time, in kernels of their own. These do
    /// not have the form that plan_storage knows.
    bool is_for_matrices(const Form& joined) const {
        const bool is_narrow = std::ranges::any_of(joined.buffers, [](UOp b) { return b.dtype().bytes() < 4; });
        const int64_t terms = joined.terms / static_cast<int64_t>(std::max<size_t>(joined.reductions, 1));
        const auto [fewest, most] = std::ranges::minmax(joined.buffers, {}, [](UOp b) { return b.numel(); });
        const ProductShape shape{.rows = terms / std::max<int64_t>(most.numel(), 1),
                                 .columns = terms / std::max<int64_t>(fewest.numel(), 1),
                                 .depth = terms / std::max<int64_t>(joined.results, 1),
                                 .bytes = 2};
        return is_narrow && shape.rows >= kSideOfTiles && !is_little(shape, policy_.costs);
    }

    /// Leaves out what no step and no root reads any more.
    void drop_unread() {
        for (const ScheduleItem& item : items_)
            if (item.output)
                for (UOp u : in_order(item.bodies()))
                    if (u.is(Op::buffer)) kept_.insert(u);
        for (ScheduleItem& item : items_) {
            std::erase_if(item.beside, [&](const ScheduleItem& other) { return !kept_.contains(other.output); });
            if (item.beside.empty() || kept_.contains(item.output)) continue;
            ScheduleItem first = std::move(item.beside.front());
            first.beside.assign(item.beside.begin() + 1, item.beside.end());
            item = std::move(first);
        }
    }

    std::vector<ScheduleItem> items_;
    const Policy& policy_;
    UOpSet kept_;  ///< buffers that are read after the last step, and by steps
    UOpMap<size_t> made_at_;
    UOpMap<std::set<size_t>> readers_;  ///< of a buffer, by steps
    std::map<Shape, std::vector<size_t>> by_shape_;
    size_t first_ = 0;  ///< that others may join
    bool joined_ = false;
};

}  // namespace

std::vector<ScheduleItem> fuse_siblings(std::vector<ScheduleItem> items, std::span<const UOp> roots,
                                        const Policy& policy) {
    return Joining(std::move(items), roots, policy).run();
}

}  // namespace strata::codegen
