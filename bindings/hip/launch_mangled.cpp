// hip_ext.h of HIP 5 declares these as C++: programs that were built with it name them so.
#include "strata/bindings/hip/exports_p.h"

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
