// Calls of programs compiled with -fgpu-default-stream=per-thread: no stream means the thread's.
#include "strata/hip/api/exports.h"
#include "strata/hip/stream/stream.h"

using namespace strata::hip::library;

namespace {

void* own(void* stream) { return stream ? stream : per_thread_stream(); }

/// The code of the first call that fails; the second waits for what the first one began.
int and_synchronize(int code) { return code == hipSuccess ? hipStreamSynchronize(per_thread_stream()) : code; }

}  // namespace

int hipLaunchKernel_spt(const void* function, Dim3 grid, Dim3 block, void** parameters, size_t lds, void* stream) {
    return hipLaunchKernel(function, grid, block, parameters, lds, own(stream));
}
int hipLaunchCooperativeKernel_spt(const void* function, Dim3 grid, Dim3 block, void** parameters, uint32_t lds,
                                   void* stream) {
    return hipLaunchCooperativeKernel(function, grid, block, parameters, lds, own(stream));
}
int hipMemcpy_spt(void* to, const void* from, size_t bytes, int kind) {
    return hipMemcpyWithStream(to, from, bytes, kind, per_thread_stream());
}
int hipMemcpyAsync_spt(void* to, const void* from, size_t bytes, int kind, void* stream) {
    return hipMemcpyAsync(to, from, bytes, kind, own(stream));
}
int hipMemcpyToSymbol_spt(const void* symbol, const void* from, size_t bytes, size_t offset, int kind) {
    return and_synchronize(hipMemcpyToSymbolAsync(symbol, from, bytes, offset, kind, per_thread_stream()));
}
int hipMemcpyFromSymbol_spt(void* to, const void* symbol, size_t bytes, size_t offset, int kind) {
    return and_synchronize(hipMemcpyFromSymbolAsync(to, symbol, bytes, offset, kind, per_thread_stream()));
}
int hipMemset_spt(void* to, int value, size_t bytes) {
    return and_synchronize(hipMemsetAsync(to, value, bytes, per_thread_stream()));
}
int hipMemsetAsync_spt(void* to, int value, size_t bytes, void* stream) {
    return hipMemsetAsync(to, value, bytes, own(stream));
}
int hipStreamSynchronize_spt(void* stream) { return hipStreamSynchronize(own(stream)); }
int hipStreamQuery_spt(void* stream) { return hipStreamQuery(own(stream)); }
int hipStreamWaitEvent_spt(void* stream, void* event, unsigned flags) {
    return hipStreamWaitEvent(own(stream), event, flags);
}
int hipEventRecord_spt(void* event, void* stream) { return hipEventRecord(event, own(stream)); }
