// transfer: elements go from view to view, several with each access of memory.
#include "strata/codegen/target/async_copy.h"
#include "strata/codegen/tile/trace.h"
#include "strata/codegen/tile/view.h"
#include "strata/core/layout/layout_error.h"

namespace strata::lang {
namespace {

View flat(const View& view) {
    return view.with_base([](const lo::Layout& L) { return lo::coalesce(L); });
}

/// Elements side by side from the first coordinate on, and from each multiple of their number.
lo::Int first_run(const View& view) {
    const lo::Layout layout = lo::coalesce(view.base());
    const lo::Layout first = layout.shape().is_tuple() && layout.rank() ? layout.mode(0) : layout;
    return first.stride().is(1) ? first.shape().integer() : lo::Int(1);
}

bool is_memory(const View& view) { return view.has_memory() && !view.is_in(Space::reg); }

/// View of vectors whose element i has coordinates i * lanes and those that follow.
View in_vectors(const View& view, int lanes) {
    if (lanes == 1) return flat(view);
    return lo::operation(
        "copy",
        [&] {
            if (!lo::surely_divides(lanes, first_run(view)))
                lo::refuse("the first {} elements of an access are not neighbours: {} are", lanes,
                           lo::to_string(first_run(view)));
            return flat(view).vectors(lanes);
        },
        view.base());
}

int lanes_of(const View& view, int most_bits) {
    int lanes = flat(view).widest(most_bits);
    while (lanes > 1 && !lo::surely_divides(lanes, first_run(view))) lanes /= 2;
    return lanes;
}

}  // namespace

int common_lanes(const View& to, const View& from, int most_bits) {
    if (!is_memory(to) && !is_memory(from)) return 1;
    int lanes = 1 << 30;
    for (const View* view : {&to, &from})
        if (is_memory(*view)) lanes = std::min(lanes, lanes_of(*view, most_bits));
    for (const View* view : {&to, &from})  // registers give as many as there are
        while (!is_memory(*view) && lanes > 1 && view->size().value() % lanes) lanes /= 2;
    return lanes;
}

void transfer(const View& to, const View& from, int lanes, const std::function<UOp(int64_t)>& predicate) {
    for (const View* view : {&to, &from})
        if (is_memory(*view) && lanes > 1 && !has_vectors(view->dtype())) {
            for (const View* each : {&to, &from})
                if (is_memory(*each)) in_vectors(*each, lanes);  // the proof alone
            lanes = 1;
        }
    const View source = is_memory(from) ? in_vectors(from, lanes) : flat(from);
    const View target = is_memory(to) ? in_vectors(to, lanes) : flat(to);
    const int64_t size = to.size().value();
    for (int64_t first = 0; first < size; first += lanes) {
        const UOp allowed = predicate ? predicate(first) : UOp();
        UOp value;
        if (is_memory(from)) {
            value = source.load(lo::IntTuple(first / lanes), allowed);
        } else {
            std::vector<UOp> values;
            for (int64_t i = 0; i < lanes; ++i) values.push_back(source.load(lo::IntTuple(first + i)));
            value = uop::vec(values);
        }
        if (is_memory(to)) {
            target.store(lo::IntTuple(first / lanes), value, allowed);
        } else {
            for (int i = 0; i < lanes; ++i) target.store(lo::IntTuple(first + i), uop::lane(value, i));
        }
    }
}

void transfer_async(const View& to, const View& from, int lanes, int wave,
                    const std::function<UOp(int64_t)>& predicate) {
    Trace& trace = Trace::current("lang.copy");
    const View source = in_vectors(from, lanes), target = in_vectors(to, lanes);
    const DType held = to.memory().dtype();
    if (from.memory().dtype() != held)
        user_error(ErrorKind::DType, "an asynchronous copy of memory of {} to memory of {}: declare both with one type",
                   from.memory().dtype().name(), held.name());
    for (int64_t first = 0; first < to.size().value(); first += lanes) {
        const lo::Int at = source.index(lo::IntTuple(first / lanes)).integer();
        if (source.predicate_at(at))
            user_error(
                ErrorKind::Unsupported,
                "an asynchronous copy of a bounded view: local memory would stay as it was where the tensor ends. "
                "Copy by kind='buffer', or with pred= of places inside the tensor");
        const auto [offset, count] = source.elements_at(at);
        const UOp place = target.elements_at(target.index(lo::IntTuple(first / lanes)).integer()).first;
        if (wave && !codegen::fills_by_lanes(place, held.bytes(), wave))
            lo::operation(
                "copy",
                [&] {
                    lo::refuse(
                        "an asynchronous copy of this chip puts {} bytes of each lane after those of the lane before. "
                        "Give the threads of a wave {} neighbouring elements of local memory in their order, {} each. "
                        "Layout((m, n), (n, 1)) of threads does so for memory whose rows have {} * n elements",
                        codegen::kBytesOfLane, wave * count, count, count);
                },
                to.base());
        trace.async_copy(to.memory(), place, from.memory(), offset, count, predicate ? predicate(first) : UOp());
    }
}

}  // namespace strata::lang
