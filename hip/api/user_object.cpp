// Objects of the program that live as long as something refers to them, graphs among it.
#include "strata/hip/api/user_object.h"

#include <algorithm>
#include <climits>
#include <mutex>

#include "strata/core/support/mutex.h"
#include "strata/hip/api/exports.h"

namespace strata::hip::library {
namespace {

struct UserObject {
    HostFunction destroy = nullptr;
    void* data = nullptr;
    uint64_t references = 0;
};
/// Handles are numbers that are given once: the handle of a deleted object never names a later one.
struct UserObjects {
    Mutex mutex;
    uintptr_t last = 0;
    std::map<void*, UserObject> all;
};
UserObjects& objects() {
    static auto* all = new UserObjects;
    return *all;
}

bool is_count(unsigned count) { return count > 0 && count <= INT_MAX; }

/// It does nothing to an object that is gone, as in AMD's library.
void retain(void* handle, uint64_t count) {
    std::lock_guard lock(objects().mutex);
    if (const auto found = objects().all.find(handle); found != objects().all.end()) found->second.references += count;
}

/// The last one destroys the object, at once.
void drop(void* handle, uint64_t count) {
    UserObject gone;
    {
        std::lock_guard lock(objects().mutex);
        const auto found = objects().all.find(handle);
        if (found == objects().all.end()) return;
        found->second.references -= std::min(count, found->second.references);
        if (found->second.references) return;
        gone = found->second;
        objects().all.erase(found);
    }
    gone.destroy(gone.data);
}

Code create(void** out, void* data, HostFunction destroy, unsigned count, unsigned flags) {
    constexpr unsigned kUnsynchronized = 1;  // hipUserObjectNoDestructorSync, which has to be given
    if (!out || !destroy || !is_count(count) || flags != kUnsynchronized) return hipErrorInvalidValue;
    std::lock_guard lock(objects().mutex);
    *out = reinterpret_cast<void*>(++objects().last);
    objects().all[*out] = {destroy, data, count};
    return hipSuccess;
}

/// Calls act() where the object and the number of references may be.
template <class Act>
Code with_object(void* handle, unsigned count, Act&& act) {
    const Code code = check_object(handle, count);
    if (code == hipSuccess) act();
    return code;
}

}  // namespace

Code check_object(void* handle, unsigned count) {
    std::lock_guard lock(objects().mutex);
    return address(handle) - 1 < objects().last && is_count(count) ? hipSuccess : hipErrorInvalidValue;
}

HeldObjects::HeldObjects(const HeldObjects& other) : counts_(other.counts_) {
    for (const auto& [object, count] : counts_) retain(object, count);
}
HeldObjects::~HeldObjects() {
    for (const auto& [object, count] : counts_) library::drop(object, count);
}
void HeldObjects::add(void* object, unsigned count, bool moves) {
    if (!moves) retain(object, count);
    counts_[object] += count;
}
void HeldObjects::drop(void* object, unsigned count) {
    const auto found = counts_.find(object);
    if (found == counts_.end()) return;
    const uint64_t own = std::min<uint64_t>(count, found->second);
    found->second -= own;
    if (!found->second) counts_.erase(found);
    library::drop(object, own);
}

}  // namespace strata::hip::library

using namespace strata::hip::library;

int hipUserObjectCreate(void** object, void* data, HostFunction destroy, unsigned count, unsigned flags) {
    return entry("hipUserObjectCreate", [&] { return create(object, data, destroy, count, flags); });
}
int hipUserObjectRetain(void* object, unsigned count) {
    return entry("hipUserObjectRetain", [&] { return with_object(object, count, [&] { retain(object, count); }); });
}
int hipUserObjectRelease(void* object, unsigned count) {
    return entry("hipUserObjectRelease", [&] { return with_object(object, count, [&] { drop(object, count); }); });
}
