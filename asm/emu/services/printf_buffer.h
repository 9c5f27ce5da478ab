#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "strata/asm/emu/machine/device_memory.h"
#include "strata/asm/emu/services/output.h"

namespace strata::emu {

/// The constant formats of a code object's printf calls, by the number that a message has in place of its format.
using PrintfFormats = std::map<uint64_t, std::string>;

/// From the rows of amdhsa.printf. An Error (Unsupported) for those of OpenCL's printf, whose messages have another
/// form.
Result<PrintfFormats> read_printf_formats(std::span<const std::string> rows);

/// The buffer that kernels compiled with -mprintf-kind=buffered print into (device libraries, ockl/cprintf; LLVM,
/// AMDGPUEmitPrintf): two words, bytes taken and bytes there are; then messages. When it is full, printf gives -1.
class PrintfBuffer {
  public:
    explicit PrintfBuffer(DeviceMemory& memory) : memory_(memory) {}
    PrintfBuffer(const PrintfBuffer&) = delete;
    ~PrintfBuffer();

    /// Ready for a launch of a kernel with these formats, which stay where they are.
    Result<void> reset(const PrintfFormats& formats);
    uint64_t address() const { return base_; }
    /// Notes that the bytes taken since the last call are this workgroup's.
    void note(uint64_t group);
    /// The messages so far. One that was taken and not written, and what its wave took after it in that turn, is
    /// missing.
    void print(Output& output) const;

  private:
    struct Part {
        uint32_t end = 0;  ///< where the next one begins
        uint64_t group = 0;
    };
    uint32_t taken() const;
    void print(Part part, uint32_t at, Output& output) const;

    DeviceMemory& memory_;
    uint64_t base_ = 0;
    const PrintfFormats* formats_ = nullptr;
    std::vector<Part> parts_;
};

}  // namespace strata::emu
