// hip_ext.h of HIP 5 declares the first two as C++: programs that were built with it name them so. The third is what
// launches of earlier headers call; it has no result, and its arguments are those of `extra`.
#include "strata/hip/api/exports.h"
#include "strata/hip/module/registration.h"

int _Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_j(
    void* function, uint32_t items_x, uint32_t items_y, uint32_t items_z, uint32_t block_x, uint32_t block_y,
    uint32_t block_z, size_t lds, void* stream, void** parameters, void** extra, void* start, void* stop,
    uint32_t flags) {
    return hipExtModuleLaunchKernel(function, items_x, items_y, items_z, block_x, block_y, block_z, lds, stream,
                                    parameters, extra, start, stop, flags);
}
int _Z24hipHccModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_(
    void* function, uint32_t items_x, uint32_t items_y, uint32_t items_z, uint32_t block_x, uint32_t block_y,
    uint32_t block_z, size_t lds, void* stream, void** parameters, void** extra, void* start, void* stop) {
    return hipExtModuleLaunchKernel(function, items_x, items_y, items_z, block_x, block_y, block_z, lds, stream,
                                    parameters, extra, start, stop, 0);
}
void _ZN8hip_impl22hipLaunchKernelGGLImplEmRK4dim3S2_jP12ihipStream_tPPv(uintptr_t host, const Dim3& grid,
                                                                         const Dim3& block, uint32_t lds, void* stream,
                                                                         void** extra) {
    using namespace strata::hip::library;
    (void)entry("hipLaunchKernelGGLImpl", [&] {
        Function* function = nullptr;
        const Code code = find_kernel(reinterpret_cast<const void*>(host), function);
        if (code != hipSuccess) return code;
        return static_cast<Code>(hipModuleLaunchKernel(function, grid.x, grid.y, grid.z, block.x, block.y, block.z, lds,
                                                       stream, nullptr, extra));
    });
}
