#pragma once
#include <array>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "strata/codegen/kernel/kernel.h"
#include "strata/codegen/optimize/attention/parts_p.h"
#include "strata/codegen/target/warpgroup_products.h"

namespace strata::codegen {

inline constexpr int64_t kSide = 16;  ///< of a matrix
inline constexpr size_t kHeld = 8;    ///< elements of 16 x 16 results that a lane has: of two rows four each

/// Rows and keys that a block has at a time.
struct AttentionTile {
    int64_t matrices, waves, keys;  ///< matrices above each other, of each wave
    int64_t most_columns;           ///< beyond which they take registers that are not there
    int64_t rows() const { return matrices * kSide * waves; }
    int64_t threads() const { return waves * 32; }
};

/// How the lanes of a wave are numbered: rows of lanes, the lanes of a row beside each other.
struct LaneGrid {
    int64_t rows, lanes;
};

/// The loop of attention over tiles of keys (matrix.cpp): its ranges, what threads hold from step to step, exponents.
class AttentionLoop {
  public:
    /// `before`: tiles that are done before the loop over the others.
    AttentionLoop(UOp sink, const AttentionParts& parts, const AttentionTile& tile, LaneGrid grid, int64_t before = 0);
    virtual ~AttentionLoop() = default;
    AttentionLoop(const AttentionLoop&) = delete;

    UOp run();

  protected:
    /// A register that a thread keeps from step to step, from an element on, and the effect that it starts with.
    struct Register {
        UOp memory, started;
        int64_t first = 0;
    };
    /// All but the results: the effect after which sums and totals are done.
    virtual UOp walk() = 0;
    /// The results, after it.
    virtual std::vector<UOp> finish(UOp end) const = 0;

    static UOp number(double value) { return constant(dtypes::float32, value); }
    UOp new_range(int64_t size, Axis axis);
    UOp memory(int64_t size, DType type, Space space);
    Register new_register(int64_t size, double first);
    UOp in_loop(const Register& r, int64_t i) const;
    void update(const Register& r, int64_t i, UOp value);
    int64_t matrices_of_columns() const { return columns_ / kSide; }
    UOp thread() const;
    UOp tile() const;
    /// The number subtracted from exponents, as exp2 takes it.
    UOp shift(UOp top) const;
    UOp exp2_of(UOp x, UOp less) const;
    bool are_near() const;
    /// The total of a row with this maximum: no number where a row without keys has none.
    UOp total_of(UOp total, UOp top) const;
    /// The maximum as others than exponents use it.
    UOp as_stored(UOp top) const { return p_.factor == 1 ? top : top * number(p_.factor); }

    const AttentionParts& p_;
    const AttentionTile& t_;
    LaneGrid grid_;
    int64_t columns_ = 0;
    UOp outer_, block_, wave_, row_of_lanes_, lane_, tile_;  // no tile_: nothing is left for the loop
    UOp first_tile_, last_tile_;                             // of those that masks leave keys in
    std::vector<Register> tops_, totals_, sums_;
    std::vector<UOp> updates_;

  private:
    /// The tiles from `first` on and before `end`, for each block.
    struct Tiles {
        UOp first, end;
        bool known_end;  ///< a mask takes out the last keys
    };
    Tiles tiles_that_count(int64_t all);

    UOp sink_;
    bool is_reversed_ = false;  ///< tiles come from the last to the first
    int next_id_, next_slot_ = 0;
};

/// Several values as one, by a balanced tree: its steps do not wait for each other. The top of a row is by
/// Op::max_number: a NaN makes its weight NaN, and by that the total.
UOp combined(Op op, std::vector<UOp> values);

// NVIDIA's instructions: the lanes of a wave, and a value over the four lanes that share a row of results. Also the
// place of eight elements of a row in a tile of `rows` rows as warpgroups read it (SwizzledTile). Last the warpgroup
// product of `columns` columns, or nothing.
inline constexpr LaneGrid kLanes{8, 4};
inline constexpr int64_t kElementsOfLine = kSwizzledRow / kSwizzledChunk * kTogether;
UOp over_lanes_of_row(Op op, UOp value);
UOp swizzled_place(UOp row, UOp chunk, int64_t rows);
const MatrixShape* warpgroup_shape(const AttentionParts& parts, int64_t columns, const Target& target);

/// Such a loop whose lanes hold results as products of groups of four waves leave them, which a derived class makes.
class AttentionTiles : public AttentionLoop {
  public:
    AttentionTiles(UOp sink, const AttentionParts& parts, const AttentionTile& tile, int64_t before = 0)
        : AttentionLoop(sink, parts, tile, kLanes, before) {}

  protected:
    /// Softmax weights of one key tile in operand order, 16 keys each. Also the factor that rescales the running sums,
    /// and the state of the rows after the tile.
    struct Weights {
        std::vector<UOp> wide;
        std::array<UOp, 2> rescale, tops, totals;
    };
    /// The place of an element of 16 x 16 results. It is in the upper or lower half of the lane's rows, and in a column
    /// from the lane's first on.
    struct Place {
        size_t half;
        int64_t column;
    };

    static Place place_of(size_t e) { return {e / 2 % 2, static_cast<int64_t>(e / 4 * 8 + e % 2)}; }
    int64_t size_of_tile(int64_t rows) const { return rows * columns_; }

    /// Reads of rows of a tile, 16 bytes each, and where each goes in local memory.
    struct Copy {
        UOp read, place;
    };
    std::vector<Copy> copies(UOp load, int64_t rows, UOp range, UOp first) const;
    static std::vector<UOp> stores_of(std::span<const Copy> copies, UOp memory);
    std::vector<Copy> copies_of_queries() const;
    /// Local memory holds keys and values of such tiles after it.
    UOp fill(UOp tile_of_keys, UOp tile_of_values);
    /// Weights by scores of 16 keys and elements of 16 x 16, and by what rows had before them.
    Weights weigh(int64_t matrix, UOp tile, const std::function<UOp(int64_t, size_t)>& product,
                  const std::array<UOp, 2>& tops, const std::array<UOp, 2>& totals) const;
    /// The same of what they have in the loop, which is updated.
    Weights weigh_in_loop(int64_t matrix, UOp tile, const std::function<UOp(int64_t, size_t)>& product);
    UOp result_row(int64_t matrix, int64_t half) const;

    UOp keys_, values_;

  private:
    std::vector<UOp> finish(UOp end) const override;
    void finish(int64_t matrix, UOp end, std::vector<UOp>& stores) const;
    UOp column_of(int64_t first, size_t element) const { return lane_ * 2 + (first + place_of(element).column); }
};

/// Such kernels by products of NVIDIA's waves (rows.cpp), and of its groups of waves: nothing where the tile does not
/// fit.
std::optional<UOp> attention_by_rows(UOp sink, const AttentionParts& parts, const AttentionTile& tile,
                                     const Target& target);
std::optional<UOp> attention_by_warpgroups(UOp sink, const AttentionParts& parts, const AttentionTile& tile,
                                           const Target& target);
std::optional<UOp> attention_by_warpgroup_rows(UOp sink, const AttentionParts& parts, const AttentionTile& tile,
                                               const Target& target);
/// The same by AMD's matrix instructions (columns.cpp).
std::optional<UOp> attention_by_columns(UOp sink, const AttentionParts& parts, const AttentionTile& tile,
                                        const Target& target);

}  // namespace strata::codegen
