// tensors: the reference of tensor graphs. An elementwise node with one user is computed where that user is, some
// thousands of elements at a time. All others are computed whole, and kept until their last user.
#include "strata/codegen/interpret/tensors.h"

#include <fmt/format.h>

#include <algorithm>

#include "strata/codegen/interpret/reductions_p.h"
#include "strata/codegen/interpret/tensor_view_p.h"
#include "strata/core/support/interrupt.h"
#include "strata/core/uop/reference.h"
#include "strata/core/uop/uop_map.h"
#include "strata/core/uop/walk.h"

namespace strata::codegen {
namespace {

constexpr size_t kChunk = 4096;   // elements at a time: a node's fit the first cache
constexpr int kMostInlined = 24;  // nodes one below the other: how deep a chunk recurses

/// Elements of a node that is not kept.
struct Chunk {
    std::vector<double> f;
    std::vector<int64_t> i;
    ReferenceArray array = {};
};

class Tensors {
  public:
    Tensors(std::span<const UOp> roots, const TensorSources& sources) : sources_(sources) {
        UOpMap<uint32_t> users;
        for (UOp root : roots) {
            ++users[root], ++users[root];  // a root is kept
            for (UOp u : toposort(root)) {
                if (seen_.contains(u)) continue;
                seen_[u] = order_.size();
                order_.push_back(u);
                for (UOp s : u.src()) ++users[s];
            }
        }
        UOpMap<int> depth;
        for (UOp u : order_) {
            int deepest = 0;
            for (UOp s : u.src()) deepest = std::max(deepest, depth[s]);
            const bool can = info(u.op()).elementwise() && users[u] == 1 && deepest < kMostInlined;
            depth[u] = can ? deepest + 1 : 0;
            inlined_[u] = can;
        }
        // Reductions read their sources in chunks; movements read them whole.
        for (UOp u : order_)
            for (UOp s : u.src())
                if (!info(u.op()).elementwise() && !u.is(Op::reduce)) inlined_[s] = false;
        find_last_users(roots);
    }

    void run() {
        for (size_t at = 0; at < order_.size(); ++at) {
            poll_interrupt();
            const UOp u = order_[at];
            if (!inlined_.at(u)) compute(u);
            for (UOp gone : last_of_[at]) {
                if (kept_.contains(gone)) kept_[gone] = TensorView();
                if (called_.contains(gone)) called_[gone].clear();
            }
        }
    }

    TensorValue value(UOp root) const {
        const TensorView& view = kept_.at(root);
        TensorValue out(view.type(), root.shape());
        view.read(0, view.elements(), out.f.data(), out.i.data());
        return out;
    }

  private:
    /// A node that is computed where its user is reads its sources there.
    void find_last_users(std::span<const UOp> roots) {
        UOpMap<size_t> last;
        for (UOp root : roots) last[root] = order_.size();
        for (size_t at = order_.size(); at-- > 0;) {
            const UOp u = order_[at];
            const size_t when = inlined_.at(u) ? last[u] : at;
            for (UOp s : u.src()) last[s] = std::max(last[s], when);
        }
        last_of_.resize(order_.size() + 1);
        for (UOp u : order_) last_of_[last[u]].push_back(u);
    }

    void keep(UOp u, TensorValue value) {
        kept_[u] = TensorView(std::make_shared<const TensorValue>(std::move(value)));
    }

    void compute(UOp u) {
        const OpInfo& row = info(u.op());
        if (row.elementwise()) return elementwise(u);
        if (u.is(Op::pad)) return keep(u, padded(u));
        if (row.is(kMovement)) return move(u);
        switch (u.op()) {
            case Op::constant:
            case Op::iota: return keep(u, leaf(u));
            case Op::buffer: return keep(u, sources_.read(u));
            case Op::contiguous: kept_[u] = kept_.at(u.src(0)); return;
            case Op::reduce: return reduce(u);
            case Op::scan: return keep(u, scanned(u, kept_.at(u.src(0))));
            case Op::take: return keep(u, taken(u));
            case Op::custom: return call(u);
            case Op::pick: return keep(u, called_.at(u.src(0)).at(static_cast<size_t>(u.as<IndexArg>().index)));
            default:
                user_error(ErrorKind::Unsupported,
                           "[interpret] {} is an operation that the interpreter of tensors "
                           "does not know",
                           to_string(u));
        }
    }

    static TensorValue leaf(UOp u) {
        TensorValue out(u.dtype(), u.shape());
        if (u.is(Op::iota)) {
            for (size_t k = 0; k < out.i.size(); ++k) out.i[k] = wrap_to(u.dtype(), static_cast<int64_t>(k));
        } else {
            const ConstArg& number = u.as<ConstArg>();
            std::ranges::fill(out.f, number.f);
            std::ranges::fill(out.i, number.i);
        }
        return out;
    }

    void move(UOp u) {
        const TensorView& from = kept_.at(u.src(0));
        std::optional<TensorView> moved = from.moved(u);
        kept_[u] = moved ? *std::move(moved) : from.copied().moved(u).value();
    }

    TensorValue padded(UOp u) const {
        const TensorView& from = kept_.at(u.src(0));
        TensorValue out(u.dtype(), u.shape());
        const size_t n = from.elements();
        if (!n) return out;
        std::vector<double> f(out.f.empty() ? 0 : n);
        std::vector<int64_t> i(out.i.empty() ? 0 : n);
        from.read(0, n, f.data(), i.data());
        std::vector<int64_t> steps(out.shape.size());
        int64_t step = 1, first = 0;
        for (size_t d = steps.size(); d-- > 0; step *= out.shape[d])
            steps[d] = step, first += u.as<BoundsArg>().bounds[d].first * step;
        each_row(from.shape(), steps, 0, n, [&](const RowPart& row) {
            for (size_t k = 0; k < row.count; ++k) {
                const auto to = static_cast<size_t>(first + row.from) + k;
                if (out.f.empty())
                    out.i[to] = i[row.to + k];
                else
                    out.f[to] = f[row.to + k];
            }
        });
        return out;
    }

    TensorValue taken(UOp u) const {
        const TensorView x = kept_.at(u.src(0)).copied(), at = kept_.at(u.src(1)).copied();
        const auto axis = static_cast<size_t>(u.as<TakeArg>().axis);
        size_t outer = 1, inner = 1;
        for (size_t d = 0; d < x.shape().size(); ++d)
            if (d != axis) (d < axis ? outer : inner) *= static_cast<size_t>(x.shape()[d]);
        const int64_t size = x.shape()[axis];
        TensorValue out(u.dtype(), u.shape());
        size_t to = 0;
        for (size_t o = 0; o < outer; ++o)
            for (size_t k = 0; k < at.elements(); ++k, to += inner) {
                const int64_t index = at.integers(0)[k];
                if (index < 0 || index >= size) wrong_index(u, index, size, static_cast<int64_t>(axis));
                const size_t from = (o * static_cast<size_t>(size) + static_cast<size_t>(index)) * inner;
                if (out.f.empty())
                    std::copy_n(x.integers(from), inner, out.i.begin() + static_cast<ptrdiff_t>(to));
                else
                    std::copy_n(x.floats(from), inner, out.f.begin() + static_cast<ptrdiff_t>(to));
            }
        return out;
    }

    [[noreturn]] static void wrong_index(UOp u, int64_t index, int64_t size, int64_t axis) {
        user_error(ErrorKind::MemoryFault, "[interpret] index {} is outside of axis {}, whose size is {}\n  in {}",
                   index, axis, size, to_string(u));
    }

    void call(UOp u) {
        std::vector<TensorValue> given;
        for (UOp s : u.src()) given.push_back(value(s));
        called_[u] = sources_.call(u, given);
    }

    void elementwise(UOp u) {
        TensorValue out(u.dtype(), u.shape());
        const size_t n = out.elements();
        for (size_t first = 0; first < n; first += kChunk) {
            if (first % (256 * kChunk) == 0) poll_interrupt();
            compute_chunk(u, first, std::min(kChunk, n - first), further(out.f.data(), first),
                          further(out.i.data(), first));
        }
        keep(u, std::move(out));
    }

    /// Elements of a node that the op of a user takes: one where it has a single one for all.
    ReferenceArray source(UOp u, size_t first, size_t n, Chunk& chunk) {
        const bool is_one = u.shape().empty();
        if (is_one) first = 0, n = 1;
        const auto found = kept_.find(u);
        if (found != kept_.end() && found->second.is_dense())
            return {found->second.floats(first), found->second.integers(first), is_one ? size_t{0} : size_t{1}};
        if (u.dtype().is_float())
            chunk.f.resize(n);
        else
            chunk.i.resize(n);
        if (found != kept_.end())
            found->second.read(first, n, chunk.f.data(), chunk.i.data());
        else
            compute_chunk(u, first, n, chunk.f.data(), chunk.i.data());
        return {chunk.f.data(), chunk.i.data(), is_one ? size_t{0} : size_t{1}};
    }

    void compute_chunk(UOp u, size_t first, size_t n, double* f, int64_t* i) {
        std::array<Chunk, 3> chunks;
        std::array<ReferenceArray, 3> arrays;
        const size_t count = u.src().size();
        for (size_t s = 0; s < count; ++s) arrays[s] = source(u.src(s), first, n, chunks[s]);
        const size_t missing =
            reference(u.op(), u.dtype(), u.src().back().dtype(), std::span(arrays).first(count), n, f, i);
        if (missing == n || !u.is(Op::bounded)) return;
        const auto at = [&](size_t s) { return arrays[s].i[missing * arrays[s].step]; };
        wrong_index(u, at(0), at(1), at(2));
    }

    void reduce(UOp u) {
        const UOp from = u.src(0);
        Reduction reduction(u);
        size_t n = 1;
        for (const int64_t size : from.shape()) n *= static_cast<size_t>(size);
        Chunk chunk;
        for (size_t first = 0; first < n; first += kChunk) {
            if (first % (256 * kChunk) == 0) poll_interrupt();
            const size_t some = std::min(kChunk, n - first);
            const ReferenceArray part = source(from, first, some, chunk);
            reduction.add(first, some, part.f, part.i);
        }
        keep(u, reduction.result());
    }

    const TensorSources& sources_;
    std::vector<UOp> order_;
    UOpMap<size_t> seen_;
    UOpMap<bool> inlined_;
    std::vector<std::vector<UOp>> last_of_;  ///< by place: what nobody needs after it
    UOpMap<TensorView> kept_;
    UOpMap<std::vector<TensorValue>> called_;
};

}  // namespace

std::vector<TensorValue> interpret_tensors(std::span<const UOp> roots, const TensorSources& sources) {
    Tensors tensors(roots, sources);
    tensors.run();
    std::vector<TensorValue> out;
    for (UOp root : roots) out.push_back(tensors.value(root));
    return out;
}

}  // namespace strata::codegen
