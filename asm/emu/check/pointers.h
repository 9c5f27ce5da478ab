#pragma once
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "strata/asm/emu/check/moment.h"
#include "strata/asm/lint/pointers.h"

namespace strata::emu {

class DeviceMemory;

/// lint::pointers_of() of a kernel, made when a launch first asks. Thread-safe.
class PointerTable {
  public:
    PointerTable(const isa::CodeObject& object, const isa::KernelInfo& kernel) : object_(object), kernel_(kernel) {}
    const lint::PointerUses& uses() {
        std::call_once(made_, [&] { uses_ = lint::pointers_of(object_, kernel_); });
        return uses_;
    }
    const isa::KernelInfo& kernel() const { return kernel_; }

  private:
    const isa::CodeObject& object_;
    const isa::KernelInfo& kernel_;
    std::once_flag made_;
    lint::PointerUses uses_;
};

/// Arguments of a launch that lead into one allocation: which bytes of it the kernel reads and writes by which of them.
/// Bytes that it writes by one and touches by another are found where one of the two promises to be the only one.
/// Thread-safe.
class Pointers {
  public:
    /// nullptr where no two of them share an allocation that is written, or none promises anything. `in_place`:
    /// LaunchConfig's.
    static std::unique_ptr<Pointers> of(PointerTable& table, std::span<const uint8_t> arguments,
                                        const DeviceMemory& memory, bool in_place);
    /// A memory instruction about to run.
    void access(const Moment& moment);
    /// In place: the lanes that load what the launch has overwritten by another pointer; of a scalar load all of them.
    uint64_t stale(const Moment& moment) const;

  private:
    /// A bit a byte of an allocation.
    class Bytes {
      public:
        explicit Bytes(uint64_t count);
        void add(uint64_t first, uint64_t end) const;
        /// The first one of a range that is in it.
        std::optional<uint64_t> find(uint64_t first, uint64_t end) const;

      private:
        struct Free {
            void operator()(uint64_t* words) const { std::free(words); }
        };
        std::unique_ptr<uint64_t, Free> words_;  ///< of calloc, whose pages come when they are used
    };
    struct Pointer {
        uint16_t argument = 0;
        uint64_t address = 0;
        bool alone = false;  ///< it promises to be the only one
        std::optional<Bytes> read = {}, written = {};
    };
    struct Group {
        uint64_t low = 0, high = 0;  ///< the allocation
        std::vector<Pointer> pointers = {};
        bool of_dwords = true;  ///< pointers lie on dwords
    };
    struct Access {
        const Moment& moment;
        const Group& group;
        const Pointer& by;
        bool reads, writes;
    };
    Pointers(PointerTable& table, const DeviceMemory& memory, bool in_place)
        : table_(table), memory_(memory), in_place_(in_place) {}

    void find_groups(std::span<const uint8_t> arguments);
    bool find_places();
    std::optional<Access> access_of(const Moment& moment) const;
    /// Calls with what an access touches of the allocation: its first lane (-1: none), the first byte and the end.
    template <class Take>
    void each(const Access& access, const Take& take) const;
    void touch(const Access& access, int lane, uint64_t first, uint64_t end) const;
    void report(const Access& access, int lane, uint64_t address, const Pointer& other, bool written) const;
    std::optional<uint64_t> instruction(const Pointer& pointer, bool writes) const;
    std::string name(const Pointer& pointer) const;

    PointerTable& table_;
    const DeviceMemory& memory_;
    bool in_place_;
    std::vector<Group> groups_;
    struct Place {
        uint32_t group = 0, pointer = 0;
    };
    std::unordered_map<uint64_t, Place> places_;  ///< by pc
};

}  // namespace strata::emu
