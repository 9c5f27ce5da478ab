#pragma once
#include <functional>
#include <utility>
#include <vector>

#include "strata/codegen/optimize/attention/tiles_p.h"
#include "strata/core/uop/kernel.h"

namespace strata::codegen {

/// Attention and chains of products (matrix.cpp) of any lengths: local memory holds a tile of keys and values, lanes
/// hold rows of results. A derived class makes the products, and says how its matrix instructions lay results over
/// lanes.
class AttentionBlock : public AttentionLoop {
  public:
    AttentionBlock(UOp sink, const AttentionParts& parts, const AttentionTile& tile, LaneGrid grid, int wave_size);

    /// The product whose keys are the values too, as in the gradient of queries; none: -1.
    static int64_t product_of_values(const AttentionParts& p);
    /// True if rows and keys are enough for the tile, and its columns no more than it has registers for.
    static bool fits(const AttentionParts& p, const AttentionTile& tile);

  protected:
    using Values = std::vector<UOp>;

    /// Where a lane has an element: in which of its rows of a matrix, and how far from the matrix's first key, column
    /// or term.
    struct Place {
        int64_t row;
        UOp offset;
    };
    /// The places of a tile that a thread reads, and where it stores them.
    struct Copies {
        UOp memory;
        Values reads;
        struct Store {
            UOp place, value, inside;  ///< inside: where it is stored; empty: everywhere
        };
        std::vector<Store> stores;
    };

    virtual int64_t rows_of_lane() const = 0;          ///< of each matrix
    virtual UOp row_in_matrix(int64_t row) const = 0;  ///< of those
    virtual Place result_place(int64_t element) const = 0;
    /// A value over all keys that the lanes of a row have.
    virtual UOp over_keys(Op op, UOp value) const = 0;
    /// Where eight elements of a key's row are in a tile of such rows, and how many elements it takes.
    virtual UOp place_in_tile(UOp key, UOp chunk, int64_t depth) const = 0;
    virtual int64_t size_of_tile(int64_t depth) const = 0;
    virtual Copies copies_of_values() { return copies_of_rows(p_.value, p_.column); }
    /// True if keys in local memory may be read as values.
    virtual bool has_values_as_keys() const { return true; }
    virtual void take_queries() = 0;
    /// Registers of the sums, by matrices of rows and 16 columns.
    virtual void start_sums();
    /// A step of the loop after the tile is filled.
    virtual void walk_softmax(UOp filled) = 0;
    virtual void walk_chain(UOp filled) = 0;

    static int64_t depth_of(const ScoreProduct& product) { return range_arg(product.row).size; }
    /// The number of what a thread copies, n threads of all at a time; the second: whether there is such a one, or
    /// empty.
    std::pair<UOp, UOp> number_of(int64_t n, int64_t all) const;
    /// Eight elements of a row, which `rows` places, along `range`.
    static UOp read(UOp source, UOp rows, UOp row, UOp range, UOp chunk);
    UOp read_key(UOp source, UOp range, UOp key, UOp chunk) const {
        return read(source, p_.keys, key_in_bounds(tile() * t_.keys + key), range, chunk);
    }
    UOp row_of_block(int64_t m, int64_t row) const;
    /// A row of results, of a block, that there is.
    UOp row_in_bounds(UOp row_of_block) const;
    UOp key_in_bounds(UOp key) const;
    Copies copies_of_rows(UOp source, UOp range);
    /// The value made of products by a matrix of rows, 16 keys and an element; `beyond`: its value after the last key.
    UOp made_of(const UOpMap<UOp>& products, int64_t m, int64_t n, int64_t e, double beyond) const;
    /// Loads of float32, in values computed from products, that keys alone decide.
    static Values loads_of_keys(const AttentionParts& p, UOp made);
    /// Brings these to registers. Returns that effect, or `before` where there is nothing.
    UOp hold_loads_of_keys(UOp before);
    /// Weights of a row, 16 keys each, of such products; updates the row's maximum and total, and says what rescales
    /// its sums.
    UOp weigh_row(int64_t m, int64_t row, const std::function<UOp(int64_t, int64_t)>& product, Values& weights);
    size_t index_of(int64_t m, int64_t row) const { return static_cast<size_t>(m * rows_of_lane() + row); }
    const Register& sum(int64_t m, int64_t c) const {
        return sums_[static_cast<size_t>(m * matrices_of_columns() + c)];
    }

    const int64_t threads_, held_;  // held_: elements of a matrix of results that a lane holds
    Values keys_;                   // by products
    UOp values_;

  private:
    UOp walk() override;
    std::vector<UOp> finish(UOp end) const override;
    UOp fill();
    UOp row_of_results(UOp row_of_block) const;
    /// Where held_loads_ has one, of 16 keys and an element.
    int64_t place_of_load(size_t load, int64_t n, int64_t e) const;
    UOp stored(UOp store, int64_t m, int64_t row, const UOpMap<UOp>& values, UOp predicate) const;

    const UOp made_;  ///< of products: scores, or the weights of a chain
    Values loads_;    // of what is made, that keys alone decide
    UOp held_loads_;  // registers with those of a tile, or empty
};

}  // namespace strata::codegen
