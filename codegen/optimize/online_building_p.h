#pragma once
#include <array>
#include <optional>
#include <span>
#include <vector>

#include "strata/codegen/kernel/kernel.h"
#include "strata/codegen/optimize/online_parts_p.h"

namespace strata::codegen {

inline constexpr int64_t kSide = 16;  ///< of a matrix
inline constexpr size_t kHeld = 8;    ///< elements of 16 x 16 results that a lane has: of two rows four each

/// Rows and keys that a block has at a time.
struct OnlineTile {
    int64_t matrices, waves, keys;  ///< matrices above each other, of each wave
    int64_t most_columns;           ///< beyond which they take registers that are not there
    bool shares_queries;            ///< queries are in local memory
    int64_t rows() const { return matrices * kSide * waves; }
    int64_t threads() const { return waves * 32; }
};

/// The kernel of an online sum over tiles (online_matrix.cpp), by instructions whose products a derived class makes.
class OnlineBuilding {
  public:
    OnlineBuilding(UOp sink, const OnlineParts& parts, const OnlineTile& tile);
    virtual ~OnlineBuilding() = default;
    OnlineBuilding(const OnlineBuilding&) = delete;

    UOp run();

  protected:
    /// What a thread holds from step to step, from an element on, and the effect that it starts with.
    struct Register {
        UOp memory, started;
        int64_t first = 0;
    };
    /// What the weights of a matrix of rows are as an operand, 16 keys each, and by how much what there is of its sums shrinks.
    struct Weights {
        std::vector<UOp> narrow;
        std::array<UOp, 2> rescale;
    };
    /// Where an element of 16 x 16 results is: the upper or lower half of the lane's rows, and a column from the lane's first on.
    struct Place {
        size_t half;
        int64_t column;
    };

    virtual Place place_of(size_t element) const = 0;
    /// Where 8 elements of a row are in a tile of so many rows in local memory.
    virtual UOp place_in_tile(UOp row, UOp chunk, int64_t rows) const = 0;
    virtual int64_t size_of_tile(int64_t rows) const = 0;
    virtual void start_sums() = 0;          ///< one of kHeld for each matrix of rows and 16 columns
    virtual void multiply(UOp filled) = 0;  ///< one of scores for each 16 keys and matrix of rows
    virtual void add_values(UOp filled, std::span<const Weights> weights) = 0;  ///< to the sums, rescaled

    static UOp number(double value) { return constant(dtypes::float32, value); }
    UOp new_range(int64_t size, Axis axis);
    UOp memory(int64_t size, DType type, Space space);
    UOp result_row(int64_t matrix, int64_t half) const;
    Register new_register(int64_t size, double first);
    UOp in_loop(const Register& r, int64_t i) const;
    void update(const Register& r, int64_t i, UOp value);
    int64_t matrices_of_columns() const { return columns_ / kSide; }

    const OnlineParts& p_;
    const OnlineTile& t_;
    int64_t columns_ = 0;
    UOp outer_, block_, wave_, row_of_lanes_, lane_, tile_;
    UOp keys_, values_, queries_;
    std::vector<Register> tops_, totals_, sums_, scores_;  // two, two, one of columns a matrix of rows; one of keys
    std::vector<UOp> updates_;

  private:
    struct Copy {
        UOp read, place;
    };
    UOp tiles_that_count(int64_t all);
    UOp thread() const;
    std::vector<Copy> copies(UOp load, int64_t rows, UOp range, UOp first) const;
    UOp fill();
    void make_queries();
    UOp shift(UOp top) const;
    UOp exp2_of(UOp x, UOp less) const;
    UOp score(int64_t m, int64_t n, size_t e) const;
    Weights weigh(int64_t m);
    void finish(int64_t m, UOp end, std::vector<UOp>& stores) const;
    UOp column_of(int64_t first, size_t element) const { return lane_ * 2 + (first + place_of(element).column); }

    UOp sink_;
    int next_id_, next_slot_ = 0;
};

/// Such kernels by waves' own products, and by those of groups of waves: nothing where the tile does not fit.
std::optional<UOp> online_by_waves(UOp sink, const OnlineParts& parts, const OnlineTile& tile, const Target& target);
std::optional<UOp> online_by_groups(UOp sink, const OnlineParts& parts, const OnlineTile& tile, const Target& target);

}  // namespace strata::codegen
