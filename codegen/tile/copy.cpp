// copy: what a thread, or a block together, copies from view to view.
#include "strata/codegen/tile/copy.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "strata/codegen/target/async_copy.h"
#include "strata/codegen/target/cache_policies.h"
#include "strata/codegen/tile/trace.h"
#include "strata/core/layout/layout_error.h"
#include "strata/core/symbolic/symbolic.h"

namespace strata::lang {
namespace {

enum class Chips : uint8_t { amd, nvidia, cdna, sm_80 };

struct CopyRow {
    std::string_view kind;
    Chips chips;
    std::vector<int> bits;
};

const std::vector<CopyRow>& copy_rows() {
    static const std::vector<CopyRow> rows = {
#define COPY(kind, chips, ...) {#kind, Chips::chips, {__VA_ARGS__}},
#include "strata/codegen/target/copy_atoms.def"
#undef COPY
    };
    return rows;
}

bool has(const codegen::Target& target, Chips chips) {
    switch (chips) {
        case Chips::amd: return target.arch.is_amd();
        case Chips::nvidia: return !target.arch.is_amd();
        case Chips::cdna: return codegen::async_copy_of(target) == codegen::AsyncCopy::by_lanes;
        case Chips::sm_80: return codegen::async_copy_of(target) == codegen::AsyncCopy::cp_async;
    }
    return false;
}

void check_pair(const View& from, const View& to) {
    if (from.dtype() != to.dtype())
        user_error(ErrorKind::DType, "a copy of {} to {}: copies keep the type, cast the elements first",
                   from.dtype().name(), to.dtype().name());
    if (!(from.size() == to.size()))
        user_error(ErrorKind::Shape, "a copy of {} elements {} to {} elements {}", lo::to_string(from.size()),
                   lo::to_string(from.shape()), lo::to_string(to.size()), lo::to_string(to.shape()));
}

void check_atom(const CopyAtom& atom, const View& view) {
    if (view.dtype() != atom.dtype)
        user_error(ErrorKind::DType, "a copy atom of {} meets a view of {}", atom.dtype.name(), view.dtype().name());
}

/// A view of a tensor as the atom's accesses take it.
View as_accessed(const CopyAtom& atom, const View& view) {
    if (!view.is_in(Space::global)) return view;
    const View checked = atom.kind == "buffer" ? view.through_descriptor() : view;
    return atom.cache ? checked.with_cache(*atom.cache) : checked;
}

void copy_by(const CopyAtom& atom, const View& from, const View& to, const std::function<UOp(int64_t)>& predicate) {
    check_pair(from, to);
    check_atom(atom, from);
    if (atom.kind == "async") {
        if (!from.is_in(Space::global) || !to.is_in(Space::local))
            user_error(ErrorKind::Usage,
                       "an asynchronous copy is from a tensor to lang.shared memory, and these are {} and {}",
                       to_string(from), to_string(to));
        return transfer_async(to, from, atom.lanes(), atom.wave, predicate);
    }
    if (atom.kind == "buffer" && !from.is_in(Space::global) && !to.is_in(Space::global))
        user_error(ErrorKind::Usage, "a copy by buffer is from or to a tensor, and these are {} and {}",
                   to_string(from), to_string(to));
    if (atom.cache && !from.is_in(Space::global) && !to.is_in(Space::global))
        user_error(ErrorKind::Usage, "cache= is of accesses of a tensor, and these are {} and {}", to_string(from),
                   to_string(to));
    transfer(as_accessed(atom, to), as_accessed(atom, from), atom.lanes(), predicate);
}

std::function<UOp(int64_t)> by_element(const std::optional<View>& predicate, const View& from) {
    if (!predicate) return {};
    if (!predicate->dtype().is_bool() || !(predicate->size() == from.size()))
        user_error(ErrorKind::Shape,
                   "the predicate of a copy of {} elements is a bool, or as many in registers, not {}",
                   lo::to_string(from.size()), to_string(*predicate));
    return [view = *predicate](int64_t first) { return view.load(lo::IntTuple(first)); };
}

/// Strides that are not known are the largest.
int64_t smallest_stride(const lo::Layout& mode) {
    int64_t least = INT64_MAX;
    const lo::IntTuple shape = lo::flatten(mode.shape()), stride = lo::flatten(mode.stride());
    for (size_t i = 0; i < shape.modes().size(); ++i)
        if (!shape.modes()[i].is(1) && stride.modes()[i].value().known())
            least = std::min(least, std::abs(stride.modes()[i].value().value()));
    return least;
}

/// Both views with the modes that go on in the first one's memory in front.
std::pair<View, View> along_memory(const View& from, const View& to) {
    const size_t rank = from.shape().rank();
    if (!from.shape().is_tuple() || !to.shape().is_tuple() || to.shape().rank() != rank) return {from, to};
    std::vector<int> order(rank);
    for (size_t i = 0; i < rank; ++i) order[i] = static_cast<int>(i);
    std::ranges::sort(order, {},
                      [&](int i) { return std::pair(smallest_stride(from.base().mode(static_cast<size_t>(i))), i); });
    for (size_t i = 0; i < rank; ++i)
        if (!(lo::product(from.shape().mode(i)) == lo::product(to.shape().mode(i))))
            user_error(ErrorKind::Shape, "a copy of {} to {}: mode {} differs", lo::to_string(from.shape()),
                       lo::to_string(to.shape()), i);
    const auto ordered = [&](const lo::Layout& L) { return lo::select(L, order); };
    return {from.with_base(ordered), to.with_base(ordered)};
}

}  // namespace

CachePolicy cache_policy(const codegen::Target& target, const std::string& name) {
    const auto found = std::ranges::find(cache_names(), name);
    if (found == cache_names().end())
        user_error(ErrorKind::Usage, "cache='{}' is no policy; {} has {}", name, target.arch.name(),
                   codegen::policies_of(target));
    const auto policy = static_cast<CachePolicy>(found - cache_names().begin());
    if (!codegen::has_policy(target, policy))
        user_error(ErrorKind::Unsupported, "{} has no accesses with cache='{}'; it has {}", target.arch.name(), name,
                   codegen::policies_of(target));
    return policy;
}

CopyAtom copy_atom(const codegen::Target& target, int bits, DType dtype, const std::string& kind,
                   std::optional<CachePolicy> cache) {
    std::string known;
    for (const CopyRow& row : copy_rows()) {
        if (!has(target, row.chips)) continue;
        if (row.kind == kind && std::ranges::find(row.bits, bits) != row.bits.end()) {
            if (bits % dtype.bits())
                user_error(ErrorKind::Usage, "a copy of {} bits has no whole elements of {}, which has {}", bits,
                           dtype.name(), dtype.bits());
            const bool by_lanes = kind == "async" && row.chips == Chips::cdna;
            if (cache && kind == "async")
                user_error(ErrorKind::Unsupported,
                           "an asynchronous copy has no cache=; the kinds universal and buffer have one");
            return {kind, bits, dtype, cache, by_lanes ? target.wave_size : 0};
        }
        known += fmt::format("{}{} of {} bits", known.empty() ? "" : ", ", row.kind, fmt::join(row.bits, ", "));
    }
    user_error(ErrorKind::Unsupported, "{} has no copy '{}' of {} bits; it has {}", target.arch.name(), kind, bits,
               known);
}

std::vector<std::pair<std::string, int>> copy_kinds(const codegen::Target& target) {
    std::vector<std::pair<std::string, int>> kinds;
    for (const CopyRow& row : copy_rows())
        if (has(target, row.chips))
            for (const int bits : row.bits) kinds.emplace_back(row.kind, bits);
    return kinds;
}

void copy(const CopyAtom& atom, const View& from, const View& to, const std::optional<View>& predicate) {
    copy_by(atom, from, to, by_element(predicate, from));
}

void copy(const CopyAtom& atom, const View& from, const View& to, UOp predicate) {
    copy_by(atom, from, to, [&](int64_t) { return predicate; });
}

void autovec_copy(const View& from, const View& to) {
    check_pair(from, to);
    transfer(to, from, common_lanes(to, from));
}

void copy_tile(const View& from, const View& to, const lo::Int& thread, int64_t threads) {
    check_pair(from, to);
    for (const View* view : {&from, &to})
        if (view->is_in(Space::reg))
            user_error(ErrorKind::Usage,
                       "copy_tile is of a block together: each thread has registers of its own; autovec_copy");
    const auto [source, target] = along_memory(from, to);
    const int lanes = common_lanes(target, source);
    const auto flat = [&](const View& view) {
        const View out = view.with_base([](const lo::Layout& L) { return lo::coalesce(L); });
        return lanes > 1 ? out.vectors(lanes) : out;
    };
    const View a = flat(source), b = flat(target);
    const int64_t accesses = from.size().value() / lanes;
    std::vector<std::pair<lo::IntTuple, UOp>> values;
    std::vector<UOp> predicates;
    for (int64_t first = 0; first < accesses; first += threads) {
        const lo::Int at = thread + lo::Int(first);
        UOp inside;
        if (first + threads > accesses && !proves_less(at.uop(), accesses)) inside = at.uop() < index_const(accesses);
        values.emplace_back(lo::IntTuple(at), a.load(lo::IntTuple(at), inside));
        predicates.push_back(inside);
    }
    for (size_t i = 0; i < values.size(); ++i) b.store(values[i].first, values[i].second, predicates[i]);
}

namespace {

/// f of the offset of each access, the elements of the other view, and the predicate.
void each_access(const CopyAtom& atom, const View& base, const View& offsets, const View& other,
                 const std::optional<View>& predicate, const std::function<void(const lo::Int&, const View&, UOp)>& f) {
    check_atom(atom, base);
    if (atom.kind == "async")
        user_error(
            ErrorKind::Unsupported,
            "gather and scatter go through registers: an asynchronous copy takes views, lang.copy(atom, src, dst)");
    if (!offsets.is_in(Space::reg) || !offsets.dtype().is_integer())
        user_error(ErrorKind::Usage, "offsets are integers in registers, and these are {}", to_string(offsets));
    if (!base.has_memory() || base.is_in(Space::reg) || !std::holds_alternative<lo::Layout>(base.layout()))
        user_error(ErrorKind::Usage,
                   "gather and scatter take offsets in a tensor or in local memory under a layout without swizzle, and "
                   "this is {}",
                   to_string(base));
    const int64_t accesses = offsets.size().value();
    if (!other.size().is(accesses * atom.lanes()))
        user_error(ErrorKind::Shape, "{} offsets of accesses of {} elements, and a view of {}", accesses, atom.lanes(),
                   lo::to_string(other.size()));
    const View flat = other.with_base([](const lo::Layout& L) { return lo::coalesce(L); });
    for (int64_t i = 0; i < accesses; ++i) {
        const UOp inside =
            predicate ? predicate->load(lo::IntTuple(predicate->size().is(accesses) ? i : i * atom.lanes())) : UOp();
        const View mine = flat.part([&](const lo::Layout& L) {
            return lo::Part{lo::composition(L, lo::Layout(atom.lanes())), L(lo::IntTuple(i * atom.lanes()))};
        });
        f(lo::Int(strata::cast(offsets.load(lo::IntTuple(i)), dtypes::index)), mine, inside);
    }
}

}  // namespace

void gather(const CopyAtom& atom, const View& base, const View& offsets, const View& to,
            const std::optional<View>& predicate) {
    const View memory = as_accessed(atom, base);
    each_access(atom, base, offsets, to, predicate, [&](const lo::Int& offset, const View& mine, UOp inside) {
        const UOp run = memory.load_run(offset, atom.lanes(), inside);
        for (int e = 0; e < atom.lanes(); ++e) mine.store(lo::IntTuple(e), uop::lane(run, e));
    });
}

void scatter(const CopyAtom& atom, const View& from, const View& base, const View& offsets,
             const std::optional<View>& predicate) {
    const View memory = as_accessed(atom, base);
    each_access(atom, base, offsets, from, predicate, [&](const lo::Int& offset, const View& mine, UOp inside) {
        std::vector<UOp> values;
        for (int e = 0; e < atom.lanes(); ++e) values.push_back(mine.load(lo::IntTuple(e)));
        memory.store_run(offset, uop::vec(values), inside);
    });
}

}  // namespace strata::lang
