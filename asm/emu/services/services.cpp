#include "strata/asm/emu/services/services.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>

#include "strata/asm/emu/services/printf.h"
#include "strata/core/support/settings.h"

namespace strata::emu {
namespace {

/// The numbers of ockl/services.
enum Service : uint32_t { function_call = 1, fprintf = 2, device_memory = 3 };

constexpr uint64_t kStderr = 1;

/// The struct that hidden_multigrid_sync_arg points to (ockl/cg), and the barrier of all grids.
struct GridInfo {
    uint64_t all = 0;
    uint32_t number = 0, grids = 1;
    uint64_t items_before = 0, items = 0;
    uint32_t barrier[2] = {};
    uint32_t groups = 0, unused = 0;
    uint32_t all_grids[2] = {};
};

}  // namespace

Result<ServiceArguments> ServiceArguments::of(const isa::CodeObject& object, const isa::KernelInfo& kernel) {
    ServiceArguments found;
    for (const isa::KernelArg& arg : kernel.args) {
        if (arg.size != sizeof(uint64_t)) continue;
        if (arg.value_kind == "hidden_hostcall_buffer") found.hostcall = static_cast<int>(arg.offset);
        if (arg.value_kind == "hidden_multigrid_sync_arg") found.grid = static_cast<int>(arg.offset);
        if (arg.value_kind == "hidden_heap_v1") found.heap = static_cast<int>(arg.offset);
        if (arg.value_kind == "hidden_printf_buffer") found.printf = static_cast<int>(arg.offset);
    }
    if (found.printf >= 0) {
        STRATA_TRY(found.formats, read_printf_formats(object.printf_formats));
    }
    return found;
}

Result<void> Services::begin(const ServiceArguments& wanted, const Shape& shape, std::span<uint8_t> kernarg) {
    auto put = [&](int offset, uint64_t address) {
        if (offset >= 0 && static_cast<size_t>(offset) + sizeof address <= kernarg.size())
            memcpy(kernarg.data() + offset, &address, sizeof address);
    };
    shape_ = shape;
    output_ = Output(settings().emu_output);
    messages_.clear();
    last_words_.clear();
    answers_ = wanted.hostcall >= 0;
    prints_ = wanted.printf >= 0;
    if (prints_) {
        STRATA_TRY_VOID(printed_.reset(wanted.formats));
        put(wanted.printf, printed_.address());
    }
    if (answers_) {
        STRATA_TRY_VOID(buffer_.reset(shape.waves));
        put(wanted.hostcall, buffer_.address());
    }
    if (wanted.grid >= 0) {
        STRATA_TRY(const uint64_t grid, describe_grid());
        put(wanted.grid, grid);
    }
    if (wanted.heap < 0) return {};
    if (!heap_ || heap_->bytes() != settings().emu_heap) {
        heap_.emplace(memory_, settings().emu_heap);
        STRATA_TRY_VOID(heap_->place());
    }
    put(wanted.heap, heap_->notes());
    return {};
}

/// As after a cooperative launch on one GPU: every kernel may wait for its whole grid.
Result<uint64_t> Services::describe_grid() {
    if (!grid_) {
        STRATA_TRY(grid_, memory_.reserve(sizeof(GridInfo)));
        memory_.add({.low = grid_, .high = grid_ + sizeof(GridInfo), .label = "the grid's barrier", .of_host = true});
    }
    GridInfo info;
    info.all = grid_ + offsetof(GridInfo, all_grids);
    uint64_t items = 1;
    info.groups = 1;
    for (size_t dim = 0; dim < 3; ++dim) {
        items *= uint64_t{shape_.grid[dim]} * shape_.block[dim];
        info.groups *= shape_.grid[dim];
    }
    info.items = items;
    memcpy(reinterpret_cast<void*>(grid_), &info, sizeof info);
    return grid_;
}

uint64_t Services::number(const Workgroup& group) const {
    return group.id[0] + shape_.grid[0] * (group.id[1] + uint64_t{shape_.grid[1]} * group.id[2]);
}

Services::Caller Services::caller(const Wave& wave, int lane) const {
    const uint32_t item = wave.wave_in_group * static_cast<uint32_t>(wave.lanes) + static_cast<uint32_t>(lane);
    const auto& block = shape_.block;
    return {number(*wave.group),
            {item % block[0], item / block[0] % block[1], item / block[0] / block[1]},
            wave.wave_in_group};
}

Result<void> Services::serve(const Wave& wave) {
    for (const HostcallBuffer::Packet& packet : buffer_.take()) {
        for (uint64_t left = packet.lanes; left; left &= left - 1) {
            const int lane = std::countr_zero(left);
            STRATA_TRY_VOID(call(packet.service, packet.slots[lane], caller(wave, lane)));
        }
        packet.answer();
    }
    return {};
}

Result<void> Services::call(uint32_t service, HostcallBuffer::Slot& slot, const Caller& from) {
    if (service == fprintf) return print(slot, from);
    if (service == device_memory) return manage(slot);
    return make_error(
        ErrorKind::Launch, "the kernel asks its host for {}; there are printf and malloc",
        service == function_call ? std::string("the call of a function") : fmt::format("service {}", service));
}

Result<void> Services::print(HostcallBuffer::Slot& slot, const Caller& from) {
    STRATA_TRY(const bool complete, messages_.enter(slot, words_));
    if (!complete) return {};
    PrintfArguments arguments{words_};
    if (arguments.empty()) return make_error(ErrorKind::Launch, "the kernel prints a message without a stream");
    const uint64_t stream = arguments.number();
    const Printed text = format_printf(arguments.string(), arguments, std::max<uint64_t>(output_.left(), kMostOfThem));
    output_.add(from.group, text);
    const WaveNumber wave{from.group, from.wave};
    if (stream == kStderr) {
        if (last_words_.size() == kMostLastWords) last_words_.erase(last_words_.begin());
        last_words_.try_emplace(wave, LastWords{from, text.text.substr(0, kMostOfThem)});
    } else {
        last_words_.erase(wave);
    }
    slot[0] = text.bytes;
    return {};
}

Result<void> Services::manage(HostcallBuffer::Slot& slot) {
    if (slot[0] == 0) {
        slot[0] = heap_ ? heap_->allocate(slot[1]) : 0;
        return {};
    }
    if (heap_ && heap_->free(slot[0])) return {};
    return make_error(ErrorKind::Launch, "the kernel frees {:#x}, which no malloc of a kernel gave", slot[0]);
}

std::string Services::output() const {
    if (!prints_) return output_.text();
    Output all = output_;
    printed_.print(all);
    return all.text();
}

std::string Services::last_words(const Wave& wave) const {
    const auto found = last_words_.find({number(*wave.group), wave.wave_in_group});
    if (found == last_words_.end()) return {};
    const auto& [x, y, z] = found->second.from.thread;
    std::string_view text = found->second.text;
    while (text.ends_with('\n')) text.remove_suffix(1);
    return fmt::format("thread ({}, {}, {}): {}", x, y, z, text);
}

}  // namespace strata::emu
