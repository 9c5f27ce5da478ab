#include "strata/asm/emu/services/printf_buffer.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "strata/asm/emu/services/printf.h"

namespace strata::emu {
namespace {

constexpr uint32_t kBytes = 16u << 20, kHead = 8;

// The first word of a message: which stream, whether a number stands for its format, its size in bytes with this word.
constexpr uint32_t kConstantFormat = 2;
constexpr int kSizeAt = 2;

}  // namespace

Result<PrintfFormats> read_printf_formats(std::span<const std::string> rows) {
    constexpr std::string_view kHashed = "0:0:";
    PrintfFormats formats;
    for (const std::string& row : rows) {
        uint64_t number = 0;
        const char* end = row.data() + row.size();
        const auto [at, status] = row.starts_with(kHashed)
                                      ? std::from_chars(row.data() + kHashed.size(), end, number, 16)
                                      : std::from_chars_result{end, std::errc::invalid_argument};
        if (status != std::errc{} || at == end || *at != ',')
            return make_error(ErrorKind::Unsupported,
                              "the code object prints in OpenCL's form (amdhsa.printf '{}'); there are HIP's two, of "
                              "-mprintf-kind=hostcall and -mprintf-kind=buffered",
                              row);
        formats.emplace(number, std::string(at + 1, end));
    }
    return formats;
}

PrintfBuffer::~PrintfBuffer() {
    if (base_) memory_.release(base_);
}

Result<void> PrintfBuffer::reset(const PrintfFormats& formats) {
    if (!base_) {
        STRATA_TRY(base_, memory_.reserve(kHead + kBytes));
        memory_.add({.low = base_, .high = base_ + kHead + kBytes, .label = "printf buffer", .of_host = true});
        memset(reinterpret_cast<void*>(base_), 0, kHead + kBytes);
    } else {
        memset(reinterpret_cast<void*>(base_), 0, kHead + taken());
    }
    const uint32_t size = kHead + kBytes;
    memcpy(reinterpret_cast<void*>(base_ + sizeof size), &size, sizeof size);
    formats_ = &formats;
    parts_.clear();
    return {};
}

uint32_t PrintfBuffer::taken() const {
    uint32_t bytes = 0;
    memcpy(&bytes, reinterpret_cast<const void*>(base_), sizeof bytes);
    return std::min(bytes, kBytes);
}

void PrintfBuffer::note(uint64_t group) {
    const uint32_t end = taken();
    if (end > (parts_.empty() ? 0 : parts_.back().end)) parts_.push_back({end, group});
}

void PrintfBuffer::print(Output& output) const {
    uint32_t at = 0;
    for (const Part& part : parts_) {
        print(part, at, output);
        at = part.end;
    }
}

void PrintfBuffer::print(Part part, uint32_t at, Output& output) const {
    std::vector<uint64_t> words;
    while (part.end - at >= sizeof(uint32_t)) {
        const auto* message = reinterpret_cast<const uint8_t*>(base_ + kHead + at);
        uint32_t control = 0;
        memcpy(&control, message, sizeof control);
        const uint32_t size = control >> kSizeAt;
        if (size < sizeof control || size > part.end - at) return;
        words.assign((size - sizeof control) / sizeof(uint64_t), 0);
        memcpy(words.data(), message + sizeof control, words.size() * sizeof(uint64_t));
        at += size;
        PrintfArguments arguments{words};
        if (arguments.empty()) continue;
        if (control & kConstantFormat) {
            const auto format = formats_->find(arguments.number());
            if (format != formats_->end())
                output.add(part.group, format_printf(format->second, arguments, output.left()));
        } else {
            const std::string_view format = arguments.string();
            output.add(part.group, format_printf(format, arguments, output.left()));
        }
    }
}

}  // namespace strata::emu
