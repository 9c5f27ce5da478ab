#pragma once
#include <span>
#include <vector>

#include "strata/codegen/optimize/attention/block_p.h"

namespace strata::codegen {

/// Such blocks by products that each wave computes alone: the operands of its rows are in registers. A derived class
/// says how matrix instructions lay operands and results over lanes.
class AttentionByFragments : public AttentionBlock {
  public:
    AttentionByFragments(UOp sink, const AttentionParts& parts, const AttentionTile& tile, LaneGrid grid,
                         int wave_size);

    /// Registers of a lane: operands of its rows, sums, and scores with the weights that are made of them.
    static int64_t registers(const AttentionParts& p, const AttentionTile& tile);
    /// Local memory of a tile: its keys, and `of_values` elements of values.
    static int64_t bytes(const AttentionParts& p, const AttentionTile& tile, int64_t of_values);

  protected:
    virtual Place operand_place(int64_t element) const = 0;
    virtual UOp multiply_add(UOp of_rows, UOp of_tile, UOp sum) const = 0;
    /// 16 terms from `first` on of 16 keys from `key` on; 16 keys from `key` on of 16 columns from `first` on.
    virtual UOp keys_operand(UOp memory, int64_t key, int64_t first, int64_t depth) const = 0;
    virtual UOp values_operand(UOp memory, int64_t key, int64_t first) const = 0;
    /// Weights of 16 keys, in the order of results, as an operand.
    virtual UOp weights_operand(std::span<const UOp> wide) const = 0;

    /// The pitch of rows in local memory, which begin in banks of their own.
    static int64_t pitch_of(int64_t elements) { return elements + kTogether; }
    UOp wmma(UOp a, UOp b, UOp c) const { return uop::wmma(std::string(p_.shape->mnemonic), a, b, c); }

    const int64_t operand_;  // elements of an operand that a lane holds

  private:
    UOp place_in_tile(UOp key, UOp chunk, int64_t depth) const override {
        return key * pitch_of(depth) + chunk * kTogether;
    }
    int64_t size_of_tile(int64_t depth) const override { return t_.keys * pitch_of(depth); }
    void take_queries() override;
    void walk_softmax(UOp filled) override;
    void walk_chain(UOp filled) override;
    Values queries(const ScoreProduct& product, int64_t m) const;
    Values multiply(size_t which, int64_t n, UOp filled, UOp before) const;
    UOp hold(const Values& products, Values& registers);
    UOp weight(int64_t m, int64_t n, int64_t e, std::span<const Values> held) const;
    Values weigh(int64_t m, std::span<const UOp> scores, Values& rescale);
    std::vector<Values> sums_in_loop(std::span<const UOp> rescale) const;
    void add_values(int64_t n, UOp values, std::span<const UOp> weights, std::vector<Values>& sums) const;
    void update_sums(const std::vector<Values>& sums);

    std::vector<Values> queries_;  // by products and matrices of rows
};

}  // namespace strata::codegen
