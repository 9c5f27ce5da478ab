#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "strata/asm/emu/machine/workgroup.h"
#include "strata/asm/emu/services/heap.h"
#include "strata/asm/emu/services/hostcall.h"
#include "strata/asm/emu/services/output.h"
#include "strata/asm/emu/services/printf_buffer.h"
#include "strata/asm/object/code_object.h"

namespace strata::emu {

/// Where the kernarg segment of a kernel has the addresses by which it finds its host; -1: it has not.
struct ServiceArguments {
    int hostcall = -1, heap = -1, grid = -1, printf = -1;
    PrintfFormats formats = {};

    static Result<ServiceArguments> of(const isa::CodeObject& object, const isa::KernelInfo& kernel);
    bool any() const { return hostcall >= 0 || heap >= 0 || grid >= 0 || printf >= 0; }
    /// True if the host has to look after every turn of a wave.
    bool watched() const { return hostcall >= 0 || printf >= 0; }
};

/// The workgroups of a launch.
struct Shape {
    std::array<uint32_t, 3> grid{}, block{};
    uint64_t waves = 0;  ///< that may be resident at once
};

/// The host that a kernel calls while it runs: it prints, and gives out memory. Called by one thread, between the turns
/// of waves: what is printed depends on nothing else.
class Services {
  public:
    explicit Services(DeviceMemory& memory) : memory_(memory), buffer_(memory), printed_(memory) {}

    /// Gets ready for a launch, and writes the addresses that the kernel wants into its arguments.
    Result<void> begin(const ServiceArguments& wanted, const Shape& shape, std::span<uint8_t> kernarg);
    /// True if a wave waits for an answer.
    bool called() const { return answers_ && buffer_.called(); }
    /// The wave had its turn.
    void had_turn(const Wave& wave) {
        if (prints_) printed_.note(number(*wave.group));
    }
    /// Answers what a wave asked in its turn. Error: what it did wrong.
    Result<void> serve(const Wave& wave);
    /// The last text of the wave on stderr: why it is about to trap. Empty: nothing.
    std::string last_words(const Wave& wave) const;
    std::string output() const;

  private:
    struct Caller {
        uint64_t group = 0;
        std::array<uint32_t, 3> thread{};
        uint32_t wave = 0;
    };
    Caller caller(const Wave& wave, int lane) const;
    uint64_t number(const Workgroup& group) const;
    Result<uint64_t> describe_grid();
    Result<void> call(uint32_t service, HostcallBuffer::Slot& slot, const Caller& from);
    Result<void> print(HostcallBuffer::Slot& slot, const Caller& from);
    Result<void> manage(HostcallBuffer::Slot& slot);

    DeviceMemory& memory_;
    HostcallBuffer buffer_;
    PrintfBuffer printed_;
    bool answers_ = false, prints_ = false;  ///< this launch
    std::optional<DeviceHeap> heap_;
    uint64_t grid_ = 0;  ///< what kernels find of the grid's barrier
    Messages messages_;
    Output output_{0};
    Shape shape_;
    struct LastWords {
        Caller from;
        std::string text;
    };
    using WaveNumber = std::pair<uint64_t, uint32_t>;                   ///< workgroup and wave
    static constexpr size_t kMostLastWords = 4096, kMostOfThem = 4096;  ///< waves, and bytes of each
    std::map<WaveNumber, LastWords> last_words_;                        ///< of waves that wrote on stderr last
    std::vector<uint64_t> words_;
};

}  // namespace strata::emu
