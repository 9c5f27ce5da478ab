// Attention (matrix.cpp) by products of groups of four waves, which read queries, keys and values from local
// memory (codegen/target/warpgroup_products.h). Their sums lie in lanes as their operand does that lanes hold, so that
// weights stay in registers.
//
// Tiles come from the last to the first. Those that a causal mask cuts come before the loop, in which then nothing is
// masked. Weights are multiplied by values a step later, while the weights of the next tile are made:
//         w, rescale of the last tile
//         in a loop over the others: s = q * k of this tile;  sums = sums * rescale + w * v of the one before, in
//         flight up to the next step;  w, rescale of s
//         and at last the same of the first tile
#include <algorithm>
#include <limits>

#include "strata/codegen/optimize/attention/tiles_p.h"
#include "strata/codegen/target/warpgroup_products.h"
#include "strata/core/uop/kernel.h"

namespace strata::codegen {
namespace {

class ByWarpgroups : public AttentionTiles {
  public:
    ByWarpgroups(UOp sink, const AttentionParts& parts, const AttentionTile& tile, const MatrixShape& of_scores,
                 const MatrixShape& of_sums)
        : AttentionTiles(sink, parts, tile, 1), of_scores_(of_scores), of_sums_(of_sums) {}

  private:
    UOp walk() override {
        fill_edges();
        start();
        std::vector<UOp> done;
        done.push_back(edges_);
        for (const auto& registers : {tops_, totals_, rescales_, {weights_, sums_[0]}})
            for (const Register& r : registers) done.push_back(r.started);
        if (tile_) {
            // The first step's are read also where there is none.
            step(fill(alu(Op::max, {next_tile(), first_tile_}), next_tile() + 1));
            done = {edges_, uop::end(uop::group(updates_), {tile_})};
        }
        return add_values(last_values_, hold_weights(done), done);
    }

    /// The tile whose scores a step makes.
    UOp next_tile() const { return last_tile_ - 1 - tile_; }

    /// Tiles that are read once: queries, the keys of the first tile, the values of the last.
    void fill_edges() {
        std::vector<UOp> stores;
        const auto bring = [&](int64_t rows, std::span<const Copy> copies) {
            const UOp to = memory(size_of_tile(rows), p_.key.dtype(), Space::local);
            for (UOp s : stores_of(copies, to)) stores.push_back(s);
            return to;
        };
        queries_ = bring(t_.rows(), copies_of_queries());
        first_keys_ = bring(t_.keys, copies(p_.key, t_.keys, p_.keys, last_tile_ * t_.keys));
        last_values_ =
            bring(t_.keys, copies(p_.value, t_.keys, p_.keys, first_tile_.is_const(0) ? UOp() : first_tile_ * t_.keys));
        edges_ = uop::barrier(stores);
    }

    UOp tile_at(UOp memory, UOp place) const {
        return make(Op::load, p_.key.dtype().vector(kTogether), {uop::at(memory, place)});
    }

    /// Scores of a tile, in registers after it.
    Register multiply(UOp keys, std::span<const UOp> earlier) {
        constexpr int64_t kRowsOfGroup = kWavesOfWarpgroup * kSide;
        const UOp group = wave_ / kWavesOfWarpgroup * (kRowsOfGroup * kElementsOfLine);
        const UOp product =
            uop::wmma(name_of(of_scores_.mnemonic, {columns_ / kSide, {true, t_.rows()}, {true, t_.keys}}),
                      tile_at(uop::after(queries_, earlier), group), tile_at(uop::after(keys, earlier), index_const(0)),
                      uop::vec(std::vector<UOp>(static_cast<size_t>(t_.keys / 2), number(0))));
        Register held{memory(t_.keys / 2, dtypes::float32, Space::reg), {}};
        const UOp to = uop::after(held.memory, earlier);
        std::vector<UOp> parts;
        for (int i = 0; i < product.dtype().lanes; ++i)
            parts.push_back(uop::store(uop::at(to, i), uop::lane(product, i)));
        held.started = uop::group(parts);
        return held;
    }
    static auto reader(const Register& scores, UOp earlier) {
        return [=](int64_t n, size_t e) {
            return uop::load(uop::at(uop::after(scores.memory, {earlier}),
                                     n * static_cast<int64_t>(kHeld) + static_cast<int64_t>(e)));
        };
    }

    /// Weights as an operand, in a register after it.
    Register hold_weights(std::span<const UOp> earlier) {
        const UOp from = uop::after(weights_.memory, earlier);
        std::vector<UOp> narrow;
        for (int64_t i = 0; i < t_.keys / 2; ++i) narrow.push_back(cast(uop::load(uop::at(from, i)), p_.value.dtype()));
        const UOp all = uop::vec(narrow), held = memory(1, all.dtype(), Space::reg);
        return {held, uop::store(uop::at(tile_ ? uop::after(held, earlier) : held, 0), all)};
    }

    /// The sums, rescaled, with the weights' part of such values, in registers after it.
    UOp add_values(UOp values, const Register& weights, std::span<const UOp> earlier) {
        const UOp held = uop::after(sums_[0].memory, earlier);
        std::vector<UOp> before, parts;
        for (int64_t i = 0; i < columns_ / 2; ++i)
            before.push_back(
                uop::load(uop::at(held, i)) *
                uop::load(uop::at(uop::after(rescales_[place_of(static_cast<size_t>(i)).half].memory, earlier), 0)));
        const UOp sum = uop::wmma(name_of(of_sums_.mnemonic, {t_.keys / kSide, kHeldByLanes, {false, t_.keys}}),
                                  uop::load(uop::at(uop::after(weights.memory, {weights.started}), 0)),
                                  tile_at(uop::after(values, earlier), index_const(0)), uop::vec(before));
        for (int i = 0; i < sum.dtype().lanes; ++i) parts.push_back(uop::store(uop::at(held, i), uop::lane(sum, i)));
        return uop::group(parts);
    }

    Register holding(std::span<const UOp> values) {
        Register r{memory(static_cast<int64_t>(values.size()), values[0].dtype(), Space::reg), {}};
        std::vector<UOp> stores;
        for (size_t i = 0; i < values.size(); ++i)
            stores.push_back(uop::store(uop::at(r.memory, static_cast<int64_t>(i)), values[i]));
        r.started = uop::group(stores);
        return r;
    }

    void start() {
        const Register scores = multiply(first_keys_, std::array{edges_});
        const UOp none = number(-std::numeric_limits<double>::infinity()), zero = number(0), one = number(1);
        const Weights first = weigh(0, last_tile_, reader(scores, scores.started), {none, none}, {zero, zero});
        for (size_t half : {0, 1}) {
            tops_.push_back(holding(std::array{first.tops[half]}));
            totals_.push_back(holding(std::array{first.totals[half]}));
            rescales_.push_back(holding(std::array{one}));
        }
        weights_ = holding(first.wide);
        const Register all = new_register(columns_ / 2, 0);
        for (int64_t c = 0; c < matrices_of_columns(); ++c)
            sums_.push_back({all.memory, all.started, c * static_cast<int64_t>(kHeld)});
    }

    void step(UOp filled) {
        const Register held = hold_weights(std::array{weights_.started, tile_});
        const Register scores = multiply(keys_, std::array{tile_, filled, held.started});
        const UOp added =
            add_values(uop::after(values_, {filled}), held,
                       std::array{sums_[0].started, rescales_[0].started, rescales_[1].started, tile_, scores.started});
        updates_.push_back(added);  // also where a mask leaves nothing of the scores, which would be read after it
        const Weights next = weigh_in_loop(0, next_tile(), reader(scores, added));
        for (size_t half : {0, 1}) update(rescales_[half], 0, next.rescale[half]);
        for (size_t i = 0; i < next.wide.size(); ++i) update(weights_, static_cast<int64_t>(i), next.wide[i]);
    }

    std::vector<Register> rescales_;
    UOp queries_, first_keys_, last_values_, edges_;
    Register weights_;
    const MatrixShape &of_scores_, &of_sums_;
};

}  // namespace

std::optional<UOp> attention_by_warpgroups(UOp sink, const AttentionParts& p, const AttentionTile& tile,
                                           const Target& target) {
    const int64_t columns = range_arg(p.row).size;
    const MatrixShape *of_scores = warpgroup_shape(p, tile.keys, target),
                      *of_sums = warpgroup_shape(p, columns, target);
    const int64_t bytes = (6 * tile.keys + tile.rows()) * columns * p.key.dtype().bytes();
    if (!of_scores || !of_sums || columns > tile.most_columns || range_arg(p.rows).size % tile.rows() ||
        range_arg(p.keys).size % tile.keys || bytes > target.lds_bytes || !is_plain_attention(p) ||
        !is_plain_row(p.query, p.row))
        return {};
    return ByWarpgroups(sink, p, tile, *of_scores, *of_sums).run();
}

}  // namespace strata::codegen
