#pragma once
#include <optional>

#include "strata/codegen/target/target.h"
#include "strata/codegen/tile/view.h"

namespace strata::lang {

/// An atom of products: a matrix instruction of one wave, or of a warpgroup, a row of codegen/target/matrix_shapes.def.
struct MmaAtom {
    codegen::MatrixShape shape;
    int lanes;  ///< of a wave, or of the four waves of a warpgroup
    int m;      ///< rows of all of them

    DType a, b;          ///< elements of A and of B: the row's, or without sign
    bool clamp = false;  ///< integer sums saturate

    lo::Layout layout_A_tv, layout_B_tv, layout_C_tv;  ///< (lane, element) -> m + M * k, n + N * k, m + M * n
};

int rows_of(const codegen::MatrixShape& shape);  ///< of all waves that compute it

struct Signs {
    bool a = true, b = true;  ///< integers with sign
    bool clamp = false;       ///< sums saturate
};
/// The first row of a chip for operands of a type; `accumulator` float32, float64 or int32 where it is not given.
/// Rows of warpgroups are taken by their shape alone. Unsupported names the rows that there are.
MmaAtom mma_atom(const codegen::Target& target, DType operand, std::optional<DType> accumulator = {},
                 std::optional<std::array<int, 3>> mnk = {}, Signs signs = {});

/// A tiled product: an atom repeated by the waves of a block along m, n and k.
class TiledMma {
  public:
    /// `waves`: how many along m, n, and k, where there is one. `permutation`: a tile of m, n, k whose places the
    /// waves' atoms take in order; none for atoms side by side.
    TiledMma(MmaAtom atom, const lo::Layout& waves, std::vector<lo::Tile> permutation = {});

    const MmaAtom& atom() const { return atom_; }
    std::array<int64_t, 3> tile_mnk() const { return tile_; }
    int64_t threads() const { return atom_.lanes * waves_.size().value(); }
    const lo::Layout& waves() const { return waves_; }

    enum class Operand : uint8_t { a, b, c };
    /// (thread, value) -> place in the tile of m and k, n and k, or m and n.
    lo::Layout layout_tv(Operand which) const;
    /// Parts by threads of a layout whose modes 0 and 1 are those of the operand: ((lane, wave, wave), (element, rest,
    /// rest, more ...)).
    lo::Layout by_threads(const lo::Layout& layout, Operand which) const;
    /// The part of a view that a thread has: (element, rest of mode 0, rest of mode 1, more modes ...).
    View partition(const View& view, Operand which, const lo::Int& thread) const;
    /// Registers for that. `stages`: as many, a mode more where there are several.
    View fragment(const View& view, Operand which, int64_t stages = 1) const;
    View fragment_like(const lo::IntTuple& shape, Operand which,
                       int64_t stages = 1) const;  ///< of a tile of that shape

    /// A tile in local memory for an atom of warpgroups: (rows of an atom, rest, k) at the thread's group. LayoutError
    /// where it does not lie as warpgroup_layout says.
    View of_local(const View& tile, Operand which, const lo::Int& thread) const;

    /// Reduces an accumulator's fragment along one of its modes by an operation. Axis 1 is the columns, to (V, M, 1);
    /// axis 0 is the rows, to (V, 1, N). Lanes exchange what they have.
    View reduce(const View& fragment, Op op, int axis) const;

  private:
    struct Sides {
        int first, second;  ///< of m, n, k
        int64_t atom[2];    ///< elements of an atom along them
        int64_t waves[2];
    };
    Sides sides_of(Operand which) const;
    DType type_of(Operand which) const;

    MmaAtom atom_;
    lo::Layout waves_;
    std::vector<lo::Tile> permutation_;
    std::array<int64_t, 3> tile_{};
};

/// The layout of a tile of (rows, k) elements in local memory that warpgroups multiply, for 16 bits an element.
lo::ComposedLayout warpgroup_layout(int64_t rows, int64_t k);

/// d = a * b + c of fragments; a and b of an atom of warpgroups are tiles of local memory. ShapeError where they do not
/// fit each other.
void gemm(const TiledMma& mma, const View& d, const View& a, const View& b, const View& c);

}  // namespace strata::lang
