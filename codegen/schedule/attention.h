#pragma once
#include <span>
#include <vector>

#include "strata/codegen/schedule/schedule.h"
#include "strata/core/uop/uop.h"

namespace strata::codegen {

/// A sum that weights values by exponentials of sums of products, as attention does, with all that leads to it:
///
///   product = sum over d of a * b       s = a function of its elements: scaled, biased, masked
///   top     = max over j of s           sum = sum over j of exp(s - top) * v, before or after a division by the total
///
/// One kernel computes it without s in memory: it walks j once and scales what it has summed whenever the top grows
/// (codegen/linear/online_softmax.cpp).
struct Attention {
    UOp sum, top, product;
    UOp result;               ///< the sum, or its quotient by the total where that is what comes of it
    std::vector<UOp> inside;  ///< the product and all that is made of it on the way to the result
    int64_t columns() const;  ///< that the sum leaves beside each other for one row of exponentials
    int64_t depth() const { return product.src(0).shape().back(); }  ///< products that are summed
};

/// How threads share a fused kernel (codegen/optimize/attention/schedule.cpp), which costs of a schedule assume too.
struct AttentionThreads {
    static constexpr int64_t kBlock = 128;       ///< of a block, where a row needs no more
    static constexpr int64_t kMostOfARow = 256;  ///< of a row
    static constexpr int64_t kColumns = 16;      ///< columns of a thread, so that its work once a key is worth it
    static constexpr int64_t kSteps = 4;         ///< keys of a row whose loads are in flight
    static constexpr int64_t kOfCard = 1 << 15;  ///< of all rows, up to which a row has more
};

/// Query rows that read the same keys.
int64_t rows_of(const Attention& attention);
/// True if so few rows read the same keys that these are better divided among blocks, where there are many.
bool has_few_rows(const Attention& attention);

/// True if matrix instructions compute the products of a fused kernel (codegen/optimize/attention/parts.cpp).
bool has_matrix_products(const Attention& attention);

/// The maximum of rows that is subtracted before an exponential: as it is, or another number where it is not finite; or
/// empty.
UOp subtracted_top(UOp u);

/// Gives attention whose scores or weights others use too nodes of its own. It does so where one kernel computes its
/// scores again in less time than reading them takes.
std::vector<UOp> separate_attention(std::span<const UOp> roots);

/// The value in what split_keys stores of a piece of the keys; empty: it is none.
UOp value_of_piece(UOp u);

/// Those in graphs whose nodes are listed, sources before users, where nothing else uses what is inside.
std::vector<Attention> find_attention(std::span<const UOp> order);
/// That of a step, whose other values may use what is inside (fuse_log_totals.cpp).
std::vector<Attention> find_attention(const ScheduleItem& item);

}  // namespace strata::codegen
