#include "strata/providers/nvidia/readback.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>

namespace strata::providers {
namespace {

constexpr size_t kPageBytes = 4096, kLineBytes = 64;  // the number lies after the page in a line of its own
constexpr unsigned kMostThreads = 1024, kWave = 32;
constexpr int kLooks = 4000;  // some 100 us; then the driver waits, and says what went wrong

/// One block copies `bytes`, by words where address and number are of whole ones, then `now` is seen by the host after
/// them.
constexpr char kKernel[] = R"(.version 6.0
.target sm_70
.address_size 64
.visible .entry strata_read(.param .u64 to, .param .u64 from, .param .u32 bytes, .param .u64 turn, .param .u32 now) {
  .reg .pred %p; .reg .b32 %i, %n, %step, %v; .reg .b64 %to, %from, %a, %b;
  ld.param.u64 %to, [to];
  ld.param.u64 %from, [from];
  ld.param.u32 %n, [bytes];
  mov.u32 %i, %tid.x;
  mov.u32 %step, %ntid.x;
  cvt.u32.u64 %v, %from;
  or.b32 %v, %v, %n;
  and.b32 %v, %v, 3;
  setp.ne.u32 %p, %v, 0;
  @%p bra BYTES;
  shr.u32 %n, %n, 2;
WORDS:
  setp.ge.u32 %p, %i, %n;
  @%p bra DONE;
  mad.wide.u32 %a, %i, 4, %from;
  ld.global.u32 %v, [%a];
  mad.wide.u32 %b, %i, 4, %to;
  st.global.u32 [%b], %v;
  add.u32 %i, %i, %step;
  bra WORDS;
BYTES:
  setp.ge.u32 %p, %i, %n;
  @%p bra DONE;
  mad.wide.u32 %a, %i, 1, %from;
  ld.global.u8 %v, [%a];
  mad.wide.u32 %b, %i, 1, %to;
  st.global.u8 [%b], %v;
  add.u32 %i, %i, %step;
  bra BYTES;
DONE:
  bar.sync 0;
  mov.u32 %i, %tid.x;
  setp.ne.u32 %p, %i, 0;
  @%p bra END;
  ld.param.u64 %a, [turn];
  ld.param.u32 %v, [now];
  fence.acq_rel.sys;
  st.relaxed.sys.global.u32 [%a], %v;
END:
  ret;
}
)";

std::atomic_ref<uint32_t> number_of(const Readback& readback) {
    return std::atomic_ref<uint32_t>(*reinterpret_cast<uint32_t*>(static_cast<char*>(readback.page) + kPageBytes));
}

void breathe() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

/// To the page.
Result<void> read_by_kernel(const NvidiaDriver& driver, Readback& readback, DevicePtr from, size_t bytes) {
    const std::atomic_ref<uint32_t> number = number_of(readback);
    void *page = readback.page, *numbers = static_cast<char*>(readback.page) + kPageBytes;
    uint32_t now = ++readback.turn, count = static_cast<uint32_t>(bytes);
    void* parameters[] = {&page, &from, &count, &numbers, &now};
    const bool words = from % 4 == 0 && bytes % 4 == 0;
    const unsigned asked = words ? count / 4 : count, whole = (asked + kWave - 1) / kWave * kWave;
    STRATA_TRY_VOID(driver.check(
        "cuLaunchKernel", driver.cuLaunchKernel(readback.kernel, 1, 1, 1, std::clamp(whole, kWave, kMostThreads), 1, 1,
                                                0, nullptr, parameters, nullptr)));
    for (int look = 0; look < kLooks; ++look) {
        if (number.load(std::memory_order_acquire) == now) return {};
        breathe();
    }
    return driver.check("cuStreamSynchronize", driver.cuStreamSynchronize(nullptr));
}

/// True if the kernel reads correctly the bytes beside the number, by bytes and by words. It runs for each value that
/// people see.
bool reads_right(const NvidiaDriver& driver, Readback& readback) {
    constexpr char kKnown[] = "0123456";
    char* const page = static_cast<char*>(readback.page);
    char* const there = page + kPageBytes + kLineBytes / 2;
    memcpy(there, kKnown, sizeof kKnown);
    for (size_t bytes : {sizeof kKnown - 1, sizeof kKnown}) {
        std::fill_n(page, sizeof kKnown, 0);
        if (!read_by_kernel(driver, readback, reinterpret_cast<DevicePtr>(there), bytes)) return false;
        if (memcmp(page, kKnown, bytes) != 0 || number_of(readback).load() != readback.turn) return false;
    }
    return true;
}

}  // namespace

Result<void> open_readback(const NvidiaDriver& driver, Readback& readback) {
    STRATA_TRY_VOID(driver.check("cuMemHostAlloc", driver.cuMemHostAlloc(&readback.page, kPageBytes + kLineBytes, 0)));
    number_of(readback).store(0);
    void* module = nullptr;
    if (driver.cuModuleLoadData(&module, kKernel) != cuda::kSuccess) return {};
    STRATA_TRY_VOID(
        driver.check("cuModuleGetFunction", driver.cuModuleGetFunction(&readback.kernel, module, "strata_read")));
    if (!reads_right(driver, readback)) readback.kernel = nullptr;
    return {};
}

Result<void> read_back(const NvidiaDriver& driver, Readback& readback, void* to, DevicePtr from, size_t bytes) {
    std::unique_lock ours(readback.mutex, std::defer_lock);
    if (bytes == 0 || bytes > kPageBytes || !ours.try_lock())
        return driver.check("cuMemcpyDtoH", driver.cuMemcpyDtoH_v2(to, from, bytes));
    STRATA_TRY_VOID(readback.kernel ? read_by_kernel(driver, readback, from, bytes)
                                    : driver.check("cuMemcpyDtoH", driver.cuMemcpyDtoH_v2(readback.page, from, bytes)));
    memcpy(to, readback.page, bytes);
    return {};
}

}  // namespace strata::providers
