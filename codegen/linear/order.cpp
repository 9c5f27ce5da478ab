// order: the graph as a list in order of execution, with nested loops.
//
// A node goes into the innermost loop that it depends on, so what does not change in a loop stands before it. A loop
// stands where its `end` stands in the graph: all that it needs from outside comes before, all that needs its result
// after.
#include <algorithm>
#include <array>

#include "strata/codegen/linear/passes_p.h"

namespace strata::codegen {
namespace {

constexpr size_t kRoot = kMaxRanges;  // block number of what is in no loop; others have their range's bit number

size_t bit_number(RangeSet bit) { return static_cast<size_t>(std::countr_zero(bit)); }
bool is_executed(UOp u) { return !u.is(Op::after) && !u.is(Op::group) && !u.is(Op::sink); }

class Ordering {
  public:
    explicit Ordering(const Scopes& scopes) : scopes_(scopes) {}

    Result<std::vector<UOp>> run() {
        nest_loops();
        const std::vector<UOp>& nodes = scopes_.order();
        for (UOp u : nodes) {
            if (u.is(Op::range)) continue;
            size_t block = block_of(loops(u));
            if (loops(u) & ~enclosing_[block])
                return make_error(ErrorKind::Usage, "{} depends on loops that are not nested in each other: {}",
                                  to_string(u), names(loops(u)));
            if (is_executed(u)) blocks_[block].push_back(u);
        }
        out_.reserve(nodes.size());
        emit(kRoot);
        STRATA_TRY_VOID(none_is_left_out());
        return std::move(out_);
    }

  private:
    /// The loops that a node stands in: those it depends on, and for an effect those that an end closes around it.
    RangeSet loops(UOp u) const {
        auto found = closed_around_.find(u);
        return scopes_.free(u) | (found == closed_around_.end() ? 0 : found->second);
    }

    /// Users come before sources here, so that the loops around an `end` are known when it is reached.
    void nest_loops() {
        const std::vector<UOp>& nodes = scopes_.order();
        for (auto u = nodes.rbegin(); u != nodes.rend(); ++u) {
            if (u->is(Op::group))
                for (UOp s : u->src()) closed_around_[s] |= loops(*u);
            if (!u->is(Op::end)) continue;
            closed_around_[u->src(0)] |= loops(*u) | scopes_.bit(u->src(1));
            size_t outer = block_of(loops(*u)), inner = bit_number(scopes_.bit(u->src(1)));
            depth_[inner] = depth_[outer] + 1;
            enclosing_[inner] = enclosing_[outer] | scopes_.bit(u->src(1));
        }
    }

    size_t block_of(RangeSet free) const {
        size_t block = kRoot;
        for (; free; free &= free - 1)
            if (size_t i = bit_number(free); depth_[i] > depth_[block]) block = i;
        return block;
    }

    void emit(size_t block) {
        for (UOp u : blocks_[block]) {
            if (u.is(Op::end)) {
                out_.push_back(u.src(1));
                emit(bit_number(scopes_.bit(u.src(1))));
            }
            out_.push_back(u);
        }
    }

    /// A loop without an end is in no list, nor is what stands in it.
    Result<void> none_is_left_out() const {
        size_t listed = 0;
        for (const std::vector<UOp>& block : blocks_) listed += block.size();
        const auto ranges = std::ranges::count_if(out_, [](UOp u) { return u.is(Op::range); });
        if (out_.size() - static_cast<size_t>(ranges) == listed) return {};
        for (size_t block = 0; block < kRoot; ++block)
            for (UOp u : blocks_[block])
                if (std::ranges::find(out_, u) == out_.end())
                    return make_error(ErrorKind::Internal, "{} stands in a loop that nothing closes: {}", to_string(u),
                                      names(loops(u)));
        return {};
    }

    std::string names(RangeSet set) const {
        std::string text;
        for (UOp r : scopes_.list(set)) text += (text.empty() ? "" : ", ") + to_string(r);
        return text;
    }

    const Scopes& scopes_;
    UOpMap<RangeSet> closed_around_;
    std::array<int, kMaxRanges + 1> depth_{};
    std::array<RangeSet, kMaxRanges + 1> enclosing_{};
    std::array<std::vector<UOp>, kMaxRanges + 1> blocks_;
    std::vector<UOp> out_;
};

}  // namespace

Result<std::vector<UOp>> order(const Scopes& scopes) { return Ordering(scopes).run(); }

}  // namespace strata::codegen
