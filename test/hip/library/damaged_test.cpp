// Code that is cut off or changed, in a file or in memory: a code, and no signal or exception.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>

#include "fixture.h"

namespace strata::hip::library {
namespace {

class Damaged : public Library {
  protected:
    void SetUp() override {
        Library::SetUp();
        ASSERT_TRUE(mkdtemp(folder));
        file = std::string(folder) + "/k.co";
        for (const isa::Bytes& image : {add_one_code(), bundle()}) images.push_back(image);
    }
    void TearDown() override {
        unlink(file.c_str());
        rmdir(folder);
    }
    /// An offload bundle of the host's empty part and the kernel's.
    static isa::Bytes bundle() {
        const isa::Bytes code = add_one_code();
        isa::Bytes out;
        const auto append = [&](const void* data, size_t bytes) {
            out.insert(out.end(), static_cast<const uint8_t*>(data), static_cast<const uint8_t*>(data) + bytes);
        };
        const auto number = [&](uint64_t value) { append(&value, 8); };
        const std::string_view magic = "__CLANG_OFFLOAD_BUNDLE__", host = "host-x86_64-unknown-linux--",
                               device = "hipv4-amdgcn-amd-amdhsa--gfx1100";
        append(magic.data(), magic.size());
        number(2);
        number(4096), number(0), number(host.size()), append(host.data(), host.size());
        number(4096), number(code.size()), number(device.size()), append(device.data(), device.size());
        out.resize(4096);
        append(code.data(), code.size());
        return out;
    }
    int load_file(const isa::Bytes& image) {
        std::ofstream(file, std::ios::binary)
            .write(reinterpret_cast<const char*>(image.data()), static_cast<std::streamsize>(image.size()));
        return unloaded([&](void** module) { return hipModuleLoad(module, file.c_str()); });
    }
    /// The bytes end where memory does: nothing after them may be read.
    static int load_memory(const isa::Bytes& image) {
        constexpr size_t kPage = 4096;
        const size_t bytes = (image.size() + kPage - 1) / kPage * kPage;
        auto* const at = static_cast<char*>(
            mmap(nullptr, bytes + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        mprotect(at + bytes, kPage, PROT_NONE);
        char* const start = at + bytes - image.size();
        std::memcpy(start, image.data(), image.size());
        const int code = unloaded([&](void** module) { return hipModuleLoadData(module, start); });
        munmap(at, bytes + kPage);
        return code;
    }
    template <class Load>
    static int unloaded(Load&& load) {
        void* module = nullptr;
        const int code = load(&module);
        if (code == hipSuccess) EXPECT_EQ(hipModuleUnload(module), hipSuccess);
        return code;
    }
    static bool is_told(int code) {
        return code == hipSuccess || code == hipErrorInvalidImage || code == hipErrorNoBinaryForGpu ||
               code == hipErrorOutOfMemory;
    }
    char folder[32] = "/tmp/strata-damaged-XXXXXX";
    std::string file;
    std::vector<isa::Bytes> images;
};

/// A byte, a word of any width, a stretch that is another's or zero, in the headers more often than elsewhere.
void damage(isa::Bytes& image, std::mt19937_64& random) {
    const auto upto = [&](size_t n) { return n ? random() % n : 0; };
    const uint64_t odd[] = {0, 1, 0x7f, 0xff, 0xffff, 0x7fffffff, ~0u, ~0ull, 1ull << 40, 1ull << 63, image.size()};
    for (size_t change = 0; change <= upto(3); ++change) {
        const size_t at = upto(upto(2) ? std::min<size_t>(image.size(), 640) : image.size());
        const uint64_t value = upto(2) ? random() : odd[upto(std::size(odd))];
        std::memcpy(&image[at], &value, std::min<size_t>(size_t{1} << upto(4), image.size() - at));
    }
}

TEST_F(Damaged, FilesAndImagesAreLoadedOrRefused) {
    testing::internal::CaptureStderr();
    std::mt19937_64 random(5);
    for (const isa::Bytes& whole : images) {
        EXPECT_EQ(load_file(whole), hipSuccess);
        EXPECT_EQ(load_memory(whole), hipSuccess);
        for (int i = 0; i < 500; ++i) {
            isa::Bytes image = whole;
            damage(image, random);
            EXPECT_PRED1(is_told, load_file(image));
            EXPECT_PRED1(is_told, load_memory(image));
        }
        for (size_t bytes = 0; bytes < whole.size(); bytes += 1 + bytes / 8) {
            const isa::Bytes cut(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(bytes));
            EXPECT_PRED1(is_told, load_file(cut));
            if (bytes) EXPECT_PRED1(is_told, load_memory(cut));
        }
    }
    (void)testing::internal::GetCapturedStderr();
}

TEST_F(Damaged, CompressedCodeTakesNoMoreMemoryThanItCanStandFor) {
    for (const uint16_t version : {1, 2, 3, 4})
        for (const uint16_t method : {0, 1, 2})
            for (const uint64_t size : {uint64_t{0}, uint64_t{1} << 20, uint64_t{1} << 33, ~uint64_t{0}}) {
                isa::Bytes image(4096, 0xa5);
                std::memcpy(image.data(), "CCOB", 4);
                std::memcpy(&image[4], &version, 2), std::memcpy(&image[6], &method, 2);
                for (size_t at = 8; at < 32; at += version == 3 ? 8 : 4)
                    std::memcpy(&image[at], &size, version == 3 ? 8 : 4);
                testing::internal::CaptureStderr();
                EXPECT_PRED1(is_told, load_file(image));
                EXPECT_PRED1(is_told, load_memory(image));
                (void)testing::internal::GetCapturedStderr();
            }
}

TEST_F(Damaged, WhatIsNoFileIsNotFoundAndHoldsNobodyUp) {
    void* module = nullptr;
    EXPECT_EQ(hipModuleLoad(&module, folder), hipErrorFileNotFound) << "a folder";
    EXPECT_EQ(hipModuleLoad(&module, file.c_str()), hipErrorFileNotFound);
    ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);
    EXPECT_EQ(hipModuleLoad(&module, file.c_str()), hipErrorFileNotFound) << "a FIFO";
    EXPECT_EQ(hipModuleLoad(&module, "/dev/zero"), hipErrorFileNotFound) << "a device";
    EXPECT_EQ(hipModuleLoad(&module, "/proc/self/mem"), hipErrorInvalidImage);
    EXPECT_EQ(module, nullptr);
}

}  // namespace
}  // namespace strata::hip::library
