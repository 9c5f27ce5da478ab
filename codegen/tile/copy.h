#pragma once
#include "strata/codegen/tile/mma.h"

namespace strata::lang {

/// One access of a thread: a row of codegen/target/copy_atoms.def.
struct CopyAtom {
    std::string kind;
    int bits;
    DType dtype;
    std::optional<CachePolicy> cache;  ///< of accesses of a tensor; none: as the chip does
    int wave = 0;  ///< lanes that fill neighbouring dwords together; 0: each thread copies by itself
    int lanes() const { return bits / dtype.bits(); }  ///< elements
};

/// Unsupported names the kinds and widths that the chip has.
CopyAtom copy_atom(const codegen::Target& target, int bits, DType dtype, const std::string& kind = "universal",
                   std::optional<CachePolicy> cache = {});
/// A policy of codegen/target/cache_policies.def by its name; the error lists those of the chip.
CachePolicy cache_policy(const codegen::Target& target, const std::string& name);

/// (kind, bits) of all that a chip has.
std::vector<std::pair<std::string, int>> copy_kinds(const codegen::Target& target);

/// Elements in order of coordinates, as many with each access as the atom has. LayoutError where they are not provably
/// neighbours, aligned. `predicate`: bool registers; an access's first element decides.
void copy(const CopyAtom& atom, const View& from, const View& to, const std::optional<View>& predicate = {});
void copy(const CopyAtom& atom, const View& from, const View& to, UOp predicate);
/// By accesses as wide as both views prove.
void autovec_copy(const View& from, const View& to);
/// By `threads` threads together, of which this is one, neighbours in `from` by neighbouring threads.
void copy_tile(const View& from, const View& to, const lo::Int& thread, int64_t threads);

/// An access at each offset, in elements from the view's first one on: aligned to the access, which is the caller's to
/// see to.
void gather(const CopyAtom& atom, const View& base, const View& offsets, const View& to,
            const std::optional<View>& predicate = {});
void scatter(const CopyAtom& atom, const View& from, const View& base, const View& offsets,
             const std::optional<View>& predicate = {});

/// A tiled copy: an atom repeated by threads and values until they cover a tile.
class TiledCopy {
  public:
    /// LayoutError where the threads' values do not cover the tile, each element once. `repeats`: threads may have what
    /// others have.
    TiledCopy(CopyAtom atom, lo::Layout tv, lo::Tile tiler, bool repeats = false);
    static TiledCopy of_threads(CopyAtom atom, const lo::Layout& threads, const lo::Layout& values);
    static TiledCopy of_operand(CopyAtom atom, const TiledMma& mma, TiledMma::Operand which);

    const CopyAtom& atom() const { return atom_; }
    const lo::Layout& layout_tv() const { return tv_; }  ///< (thread, value) -> place in the tile
    const lo::Tile& tiler() const { return tiler_; }
    int64_t threads() const { return tv_.mode(0).size().value(); }

    /// The part of a view that a thread has: ((access, accesses), rest of each mode ...).
    View partition(const View& view, const lo::Int& thread) const;
    /// A fragment of the products whose operand the copy was made for, with the modes that partition gives.
    View retile(const View& fragment) const;

  private:
    lo::Layout by_accesses(const lo::Layout& values) const;

    CopyAtom atom_;
    lo::Layout tv_;
    lo::Tile tiler_;
    std::vector<int64_t> repeats_of_mma_;  ///< atoms of a thread along each mode of a tile
};

}  // namespace strata::lang
