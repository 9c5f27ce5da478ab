// Surface objects. HIP's headers declare these calls as C++.
#include <mutex>
#include <unordered_map>

#include "strata/core/support/mutex.h"
#include "strata/hip/api/exports.h"
#include "strata/hip/memory/blocks.h"
#include "strata/hip/texture/texture.h"

namespace strata::hip::library {
namespace {

struct Surfaces {
    Mutex mutex;
    std::unordered_map<void*, int> all;  ///< the device of each, as the emulator counts
};
Surfaces& surfaces() {
    static auto* all = new Surfaces;
    return *all;
}

Code create(void** out, const ResourceDescription* resource) {
    if (!has_images(current())) return hipErrorNotSupported;
    if (!out || !resource || resource->kind != kOfArray) return hipErrorInvalidValue;
    const OwnArray* const array = array_at(resource->array);
    if (!array || (array->flags && !(array->flags & kForSurfaces))) return hipErrorInvalidValue;
    const bool is_gfx12 = query(array->device).arch.starts_with("gfx12");
    const Code code = write_object(array->device, image_object(texels_of(*array), {}, is_gfx12), out);
    if (code != hipSuccess) return code;
    std::lock_guard lock(surfaces().mutex);
    surfaces().all[*out] = array->device;
    return hipSuccess;
}

Code destroy(void* surface) {
    if (!surface) return hipSuccess;
    if (const Code code = wait_for_device(current()); code != hipSuccess) return code;
    {
        std::lock_guard lock(surfaces().mutex);
        if (!surfaces().all.erase(surface)) return hipErrorInvalidValue;
    }
    return release(surface);
}

}  // namespace

void forget_surfaces(int device) {
    std::lock_guard lock(surfaces().mutex);
    std::erase_if(surfaces().all, [&](const auto& one) { return one.second == device; });
}

}  // namespace strata::hip::library

using namespace strata::hip::library;

int _Z22hipCreateSurfaceObjectPP13__hip_surfacePK15hipResourceDesc(void** surface, const void* resource) {
    return entry("hipCreateSurfaceObject",
                 [&] { return create(surface, static_cast<const ResourceDescription*>(resource)); });
}
int _Z23hipDestroySurfaceObjectP13__hip_surface(void* surface) {
    return entry("hipDestroySurfaceObject", [&] { return destroy(surface); });
}
