// Which accesses of a kernel meet without an order between them.
#include "strata/codegen/interpret/shadow_p.h"

#include <fmt/format.h>

namespace strata::codegen {
namespace {

Fault race(const char* now, const char* earlier, const Accessor& by, const Accessor& other) {
    if (by.block != other.block)
        return {ErrorKind::Check,
                fmt::format("{} what block {} {}: blocks run in any order", now, other.block, earlier)};
    return {ErrorKind::Check, fmt::format("{} what wave {} {} since the last barrier: put a barrier between them", now,
                                          other.wave, earlier)};
}

Fault under_way(const char* now) {
    return {
        ErrorKind::Check,
        fmt::format("{} what an asynchronous copy may still write: put lang.async_wait after its lang.async_commit, "
                    "and a barrier, in between",
                    now)};
}

}  // namespace

/// Two accesses have an order if one wave makes both, or a barrier of their block stands between them.
bool Shadow::meets(const Access& earlier, const Accessor& now, Kind kind) {
    if (earlier.kind == Kind::none || (earlier.kind == Kind::atomic && kind == Kind::atomic)) return false;
    if (earlier.by.block != now.block) return true;
    return earlier.by.wave != now.wave && earlier.by.epoch == now.epoch;
}

std::optional<Fault> Shadow::read(size_t at, const Accessor& by) {
    Element& e = elements_[at];
    if (e.is_copied_to) return under_way("reads");
    if (!e.is_filled) return Fault{ErrorKind::Check, "reads an element that nothing has written"};
    if (meets(e.write, by, Kind::plain)) return race("reads", "wrote", by, e.write.by);
    const bool same_epoch = e.read.kind != Kind::none && e.read.by.block == by.block && e.read.by.epoch == by.epoch;
    e.many_read = same_epoch && (e.many_read || e.read.by.wave != by.wave);
    e.read = {by, Kind::plain};
    return {};
}

std::optional<Fault> Shadow::write(size_t at, const Accessor& by, bool same_value) {
    Element& e = elements_[at];
    if (e.is_copied_to) return under_way("writes");
    const bool repeats = same_value && e.is_filled;
    if (!repeats && meets(e.write, by, Kind::plain)) return race("writes", "wrote", by, e.write.by);
    const bool read_by_another = e.many_read && e.read.by.block == by.block && e.read.by.epoch == by.epoch;
    if (!repeats && (read_by_another || meets(e.read, by, Kind::plain))) return race("writes", "reads", by, e.read.by);
    if (!repeats) e.write = {by, Kind::plain};
    e.is_filled = true;
    return {};
}

std::optional<Fault> Shadow::begin_copy(size_t at, const Accessor& by) {
    const bool was_filled = elements_[at].is_filled;
    if (auto wrong = write(at, by, false)) return wrong;
    elements_[at].is_filled = was_filled;
    elements_[at].is_copied_to = true;
    return {};
}

void Shadow::end_copy(size_t at, const Accessor& by) {
    Element& e = elements_[at];
    e.is_copied_to = false, e.is_filled = true;
    e.write = {by, Kind::plain};
}

std::optional<Fault> Shadow::update(size_t at, const Accessor& by) {
    Element& e = elements_[at];
    if (e.is_copied_to) return under_way("updates");
    if (!e.is_filled) return Fault{ErrorKind::Check, "updates an element that nothing has written"};
    if (meets(e.write, by, Kind::atomic)) return race("updates", "wrote", by, e.write.by);
    if (meets(e.read, by, Kind::atomic)) return race("updates", "reads", by, e.read.by);
    e.write = {by, Kind::atomic};
    return {};
}

}  // namespace strata::codegen
