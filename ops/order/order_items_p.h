#pragma once
#include <optional>
#include <vector>

#include "strata/ops/order/block_p.h"
#include "strata/ops/tensor.h"

namespace strata::ops {

/// How an element of a row becomes an item, which is ordered as unsigned integers are: its key, then its position.
/// One word holds both where it can.
struct Packing {
    DType key, place;  ///< unsigned
    DType word;        ///< none: a word each

    /// The packing of rows of n values of a type.
    static Packing of(DType values, int64_t n);
    std::vector<DType> words() const;
    Words pack(UOp key, UOp position) const;
    UOp position(const Words& words) const;
    Words last() const;  ///< after all items
    int bytes() const;   ///< of an item
};

/// Where a kernel's items come from: values as they are, or items that a kernel has packed.
struct ItemSource {
    Packing packing;
    bool packed, descending;
    DType type;                ///< of the values
    std::vector<UOp> buffers;  ///< the values, or one a word

    /// The item at a place of the buffers; the last of all where there is none. position: of a value in its row.
    Words at(UOp place, UOp position, UOp exists) const;
};

/// Rows of items in memory.
struct ItemRows {
    Packing packing;
    bool packed, descending;
    std::vector<Tensor> memory;  ///< (rows, n) each: the values, or one a word

    int64_t rows() const { return memory[0].size(0); }
    int64_t n() const { return memory[0].size(1); }
    /// As parameters of a kernel from `slot` on.
    ItemSource source(int slot) const;
};

/// The results of a kernel: its items' positions, or the items for a kernel after it.
struct ItemResult {
    Packing packing;
    DType positions;           ///< none: the items
    std::vector<UOp> buffers;  ///< the kernel's first parameters

    ItemResult(const Packing& packing, DType positions, int64_t size);
    std::vector<DType> types() const;
    UOp put(UOp place, const Words& words, UOp predicate) const;
};

/// Positions (rows, k) of the first k elements of each row in order. Equal ones come as they were, NaN is the largest
/// value and -0 is 0. Without a type int32 where that holds n, else int64.
Tensor order_of_rows(const Tensor& rows, bool descending, int64_t k, DType wanted = dtypes::none);

/// Threads of a block that works on `items` items of local memory.
int64_t threads_of(int64_t items);
/// Runs a kernel of such results, (rows, columns) each: its first parameters are they, then the rows.
std::vector<Tensor> launched(UOp sink, const std::vector<DType>& results, int64_t rows, int64_t columns,
                             const ItemRows& from);

/// Rows of items in runs that are in order, a power of two each: positions (rows, k) of the first.
Tensor merged_runs(ItemRows rows, int64_t run, int64_t k, DType positions);

/// The first k items of each of the parts of each row, in order: positions or items (rows, parts * k).
std::vector<Tensor> selected(const ItemRows& rows, int64_t k, int64_t parts, DType positions);
/// Into how many parts rows can be cut for that; none: to order all is better.
std::optional<int64_t> most_parts(int64_t n, int64_t k);

}  // namespace strata::ops
