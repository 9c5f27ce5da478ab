#pragma once
#include <functional>
#include <optional>

#include "strata/core/layout/algebra.h"
#include "strata/core/layout/composed.h"
#include "strata/core/uop/kernel.h"

namespace strata::lang {

namespace lo = strata::layout;

/// The check of accesses beyond memory: none, a predicate, or a descriptor of its size where chips have such.
enum class Beyond : uint8_t { nothing, predicate, descriptor };

inline constexpr int kWidestAccess = 128;  ///< bits of a lane's widest memory access

/// Elements of memory under a layout: of a tensor, of memory that a block shares or of a thread's registers. A view of
/// no memory has coordinates for elements. Copies of a view name the same elements. Loads and stores go to the trace.
class View {
  public:
    using AnyLayout = std::variant<lo::Layout, lo::ComposedLayout>;

    /// LayoutError where the layout surely reaches beyond the memory.
    View(UOp memory, AnyLayout layout);
    static View coordinates(const lo::IntTuple& shape);               ///< the element at c is c
    static View registers(const lo::Layout& layout, DType type);      ///< new ones
    static View shared(AnyLayout layout, DType type);                 ///< new memory of the block
    static View registers_of(const lo::IntTuple& shape, DType type);  ///< new ones, compact

    bool has_memory() const { return memory_.get() != UOp(); }
    UOp memory() const { return memory_.get(); }  ///< the parameter
    bool is_in(Space space) const { return has_memory() && memory().as<ParamArg>().space == space; }
    DType dtype() const { return dtype_; }  ///< of an element; none for coordinates
    const AnyLayout& layout() const { return layout_; }
    const lo::Layout& base() const;  ///< the layout that takes coordinates
    const lo::IntTuple& shape() const { return base().shape(); }
    lo::Int size() const { return base().size(); }
    const lo::IntTuple& offset() const { return offset_; }

    /// The same memory from the same element on, under another layout.
    View with_layout(AnyLayout layout) const;
    /// f of the layout that takes coordinates; what comes before and after it stays.
    View with_base(const std::function<lo::Layout(const lo::Layout&)>& f) const;
    /// The part that f gives of the layout that takes coordinates.
    View part(const std::function<lo::Part(const lo::Layout&)>& f) const;
    View slice(const lo::IntTuple& coordinate) const;  ///< the modes where the coordinate has none
    /// Loads beyond the memory's elements give 0, stores there do nothing.
    View bounded() const;
    /// The same through a descriptor of the memory's size, which checks accesses that are not provably inside, on chips
    /// that have such.
    View through_descriptor() const;
    /// The same, accessed by a policy of caches that the chip has.
    View with_cache(CachePolicy cache) const;
    /// The same, of memory whose elements the launch counts.
    View with_extent(lo::Int elements) const;
    /// The same bits as elements of another type: LayoutError where an element's bits are not neighbours.
    View recast(DType type) const;
    /// Elements of `lanes` neighbours each, aligned to their size; LayoutError where that is not provable.
    View vectors(int lanes) const { return recast(dtype_.vector(lanes)); }
    /// The most lanes, a power of two, for which vectors() is provable and `most_bits` suffice.
    int widest(int most_bits = kWidestAccess) const;

    /// The element's index in memory, or its coordinate. Usage error where it is surely outside of the shape.
    lo::IntTuple index(const lo::IntTuple& coordinate) const;
    UOp load(const lo::IntTuple& coordinate, UOp predicate = {}) const;  ///< 0 where the predicate is false
    void store(const lo::IntTuple& coordinate, UOp value, UOp predicate = {}) const;
    UOp predicate_at(const lo::Int& index) const;  ///< that an element is inside of bounded memory; empty: always
    /// `lanes` elements of a tensor or local memory, the first an offset beyond the view's first one. The caller keeps
    /// the address a multiple of their size.
    UOp load_run(const lo::Int& offset, int lanes, UOp predicate = {}) const;
    void store_run(const lo::Int& offset, UOp value, UOp predicate = {}) const;
    /// The elements of memory that the view's element of an index is: the first one's offset, and how many.
    std::pair<UOp, int> elements_at(const lo::Int& index) const;
    View at(const lo::IntTuple& coordinate) const;  ///< the one element at a coordinate, which has the coordinate 0

  private:
    View(Root memory, AnyLayout layout, DType type)
        : memory_(std::move(memory)), layout_(std::move(layout)), dtype_(type) {}
    UOp load_at(const lo::Int& index, UOp predicate) const;
    void store_at(const lo::Int& index, UOp value, UOp predicate) const;
    UOp predicate_of_run(const lo::Int& first, int lanes) const;

    Root memory_;
    AnyLayout layout_;
    lo::IntTuple offset_ = 0;
    DType dtype_;
    Beyond beyond_ = Beyond::nothing;
    std::optional<CachePolicy> cache_;
    std::optional<lo::Int> extent_;  ///< elements of the memory where the launch says it
};

bool has_vectors(DType type);  ///< HIP has none of bool and of 8-bit floats
std::string to_string(const View& view);

/// For shapes of an integer a mode: calls f with each coordinate, the first mode fastest.
void for_each_coordinate(const lo::IntTuple& shape, const std::function<void(const lo::IntTuple&)>& f);
/// The shape of what is computed of several, mode by mode: a mode of size 1 repeats. ShapeError names both.
lo::IntTuple broadcast(const lo::IntTuple& a, const lo::IntTuple& b);
/// The coordinate of an operand at a coordinate of the broadcast shape.
lo::IntTuple repeated(const lo::IntTuple& coordinate, const lo::IntTuple& shape);

using OfElements = std::function<UOp(std::span<const UOp>)>;
/// New registers with f of the elements of each.
View map(std::span<const View> views, const OfElements& f);
View loaded(const View& from);                 ///< new registers with its elements
void store(const View& to, const View& from);  ///< modes of size 1 repeat; the types are equal
/// The most elements that one access takes in every view that is not of registers, from the first coordinate on.
int common_lanes(const View& to, const View& from, int most_bits = kWidestAccess);
/// Elements of views of one size in order of coordinates, `lanes` an access. LayoutError where an access is not
/// provably of neighbours, aligned. `predicate`: of the access whose first coordinate it is given; a load gives 0
/// without it.
void transfer(const View& to, const View& from, int lanes, const std::function<UOp(int64_t)>& predicate = {});
/// The same from a tensor to local memory, asynchronously. `wave`: lanes that fill neighbouring dwords together, which
/// LayoutError says where it is not provable; 0: each thread copies by itself.
void transfer_async(const View& to, const View& from, int lanes, int wave,
                    const std::function<UOp(int64_t)>& predicate = {});
void fill(const View& to, UOp value);
View cast(const View& from, DType type);  ///< new registers with its elements as another type
UOp reduce(const View& from, Op op);      ///< of all elements by halves: add, mul, max, min, and, or, xor

}  // namespace strata::lang
