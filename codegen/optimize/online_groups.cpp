// Online sums (online_matrix.cpp) by products of groups of four waves, which read queries, keys and values from local memory
// (codegen/target/group_products.h). Their sums lie in lanes as their operand does that lanes hold, so that weights stay in registers.
#include <algorithm>

#include "strata/codegen/optimize/online_building_p.h"
#include "strata/codegen/target/group_products.h"
#include "strata/core/uop/kernel.h"

namespace strata::codegen {
namespace {

constexpr int64_t kLine = kSwizzledRow / kSwizzledChunk;  // chunks of 16 bytes

const MatrixShape* shape_of(const OnlineParts& p, int64_t columns, const Target& target) {
    const auto found = std::ranges::find_if(target.matrix, [&](const MatrixShape& s) {
        return s.by_groups && s.operand == p.key.dtype() && s.accumulator == dtypes::float32 && s.n == columns;
    });
    return found == target.matrix.end() ? nullptr : &*found;
}

class ByGroups : public OnlineBuilding {
  public:
    ByGroups(UOp sink, const OnlineParts& parts, const OnlineTile& tile, const MatrixShape& of_scores,
             const MatrixShape& of_sums)
        : OnlineBuilding(sink, parts, tile), of_scores_(of_scores), of_sums_(of_sums) {}

  private:
    Place place_of(size_t e) const override { return {e / 2 % 2, static_cast<int64_t>(e / 4 * 8 + e % 2)}; }
    UOp place_in_tile(UOp row, UOp chunk, int64_t rows) const override {
        const UOp in_line = alu(Op::bit_xor, {chunk % kLine, row % kSwizzledRows});
        return chunk / kLine * (rows * kLine * kTogether) + row * (kLine * kTogether) + in_line * kTogether;
    }
    int64_t size_of_tile(int64_t rows) const override { return rows * columns_; }

    void start_sums() override {
        const Register all = new_register(columns_ / 2, 0);
        for (int64_t c = 0; c < matrices_of_columns(); ++c)
            sums_.push_back({all.memory, all.started, c * static_cast<int64_t>(kHeld)});
    }

    UOp tile_at(UOp memory, UOp place) const {
        return make(Op::load, p_.key.dtype().vector(kTogether), {uop::at(memory, place)});
    }
    static UOp wmma(const MatrixShape& shape, const GroupProduct& product, UOp a, UOp b, UOp c) {
        return uop::wmma(name_of(shape.mnemonic, product), a, b, c);
    }

    void multiply(UOp filled) override {
        constexpr int64_t kRowsOfGroup = kWavesOfGroup * kSide;
        const UOp group = wave_ / kWavesOfGroup * (kRowsOfGroup * kLine * kTogether);
        const UOp product =
            wmma(of_scores_, {columns_ / kSide, {true, t_.rows()}, {true, t_.keys}},
                 tile_at(uop::after(queries_, {tile_}), group), tile_at(uop::after(keys_, {filled}), index_const(0)),
                 uop::vec(std::vector<UOp>(static_cast<size_t>(t_.keys / 2), number(0))));
        Register held{memory(t_.keys / 2, dtypes::float32, Space::reg), {}};
        std::vector<UOp> parts;
        for (int i = 0; i < product.dtype().lanes; ++i)
            parts.push_back(uop::store(uop::at(uop::after(held.memory, {tile_}), i), uop::lane(product, i)));
        held.started = uop::group(parts);
        updates_.push_back(held.started);
        for (int64_t n = 0; n < t_.keys / kSide; ++n)
            scores_.push_back({held.memory, held.started, n * static_cast<int64_t>(kHeld)});
    }

    void add_values(UOp filled, std::span<const Weights> weights) override {
        std::vector<UOp> held;
        for (const Register& sums : sums_)
            for (size_t e = 0; e < kHeld; ++e)
                held.push_back(uop::load(in_loop(sums, static_cast<int64_t>(e))) *
                               weights[0].rescale[place_of(e).half]);
        const UOp sum = wmma(of_sums_, {t_.keys / kSide, kHeldByLanes, {false, t_.keys}}, uop::vec(weights[0].narrow),
                             tile_at(uop::after(values_, {filled}), index_const(0)), uop::vec(held));
        for (int i = 0; i < sum.dtype().lanes; ++i) update(sums_[0], i, uop::lane(sum, i));
    }

    const MatrixShape &of_scores_, &of_sums_;
};

}  // namespace

std::optional<UOp> online_by_groups(UOp sink, const OnlineParts& p, const OnlineTile& tile, const Target& target) {
    const int64_t columns = range_arg(p.row).size;
    const MatrixShape *of_scores = shape_of(p, tile.keys, target), *of_sums = shape_of(p, columns, target);
    const int64_t bytes = (4 * tile.keys + tile.rows()) * columns * p.key.dtype().bytes();
    if (!of_scores || !of_sums || columns > tile.most_columns || range_arg(p.rows).size % tile.rows() ||
        range_arg(p.keys).size % tile.keys || bytes > target.lds_bytes || !is_plain_row(p.query, p.row))
        return {};
    return ByGroups(sink, p, tile, *of_scores, *of_sums).run();
}

}  // namespace strata::codegen
