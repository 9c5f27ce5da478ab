// Results of the library's functions for a program of HIP: codes, both ways to give arguments, the last error of a
// thread.
#include "strata/hip/api/exports.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>
#include <thread>
#include <vector>

#include "fixture.h"
#include "strata/hip/api/state.h"

namespace strata::hip::library {
namespace {

class Exports : public Library {
  protected:
    static int launch(void* function, void** parameters, void** extra) {
        return hipModuleLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, nullptr, parameters, extra);
    }
};

TEST_F(Exports, TheLibraryHasEachFunctionOfTheTable) {
    void* library = dlopen(STRATA_HIP_FOLDER "/libamdhip64.so.7", RTLD_LAZY | RTLD_LOCAL);
    ASSERT_TRUE(library) << dlerror();
    const auto expect = [&](const char* name, std::string version) {
        version[version.find('_')] = '.';
        EXPECT_TRUE(dlvsym(library, name, ("hip_" + version).c_str())) << name << " of " << version;
    };
#define EXPORT(version, area, result, name, parameters) expect(#name, #version);
#include "strata/hip/api/exports.def"
#undef EXPORT
#define MISSING(version, name) expect(#name, #version);
#define MISSING_NAME(version, name) expect(#name, #version);
#define MISSING_RTC(version, name) expect(#name, #version);
#include "strata/hip/api/missing.def"
#undef MISSING_RTC
#undef MISSING_NAME
#undef MISSING
    EXPECT_FALSE(dlsym(library, "hipNothing"));
}

/// Answers of the library to a program that asks for a function by its name.
class Procedures : public Exports {
  protected:
    struct Answer {
        int code = -1, status = -1;
        void* function = nullptr;
    };
    void SetUp() override {
        library = dlopen(STRATA_HIP_FOLDER "/libamdhip64.so.7", RTLD_LAZY | RTLD_LOCAL);
        ASSERT_TRUE(library) << dlerror();
    }
    void* symbol(const std::string& name) const { return dlsym(library, name.c_str()); }
    Answer ask(const std::string& name, int version, uint64_t flags = 0, const char* by = "hipGetProcAddress") const {
        Answer out;
        const auto call = reinterpret_cast<decltype(&hipGetProcAddress)>(symbol(by));
        out.code = call(name.c_str(), &out.function, version, flags, &out.status);
        return out;
    }
    /// Every name of the tables. Names of 6.0's structures mean them from that version on, whichever number is asked
    /// for.
    void expect(const std::string& name, std::string version, bool is_there) const {
        const size_t line = version.find('_');
        const int since = std::stoi(version.substr(0, line)) * 100 + std::stoi(version.substr(line + 1));
        void *const now = symbol(name + "R0600"), *const of_thread = symbol(name + "_spt");
        for (const int asked : {since, 702, 70'000'000, 70'226'015}) {
            const Answer answer = ask(name, asked);
            EXPECT_EQ(answer.code, hipSuccess) << name << " of " << asked;
            EXPECT_EQ(answer.status, 0) << name << " of " << asked;
            EXPECT_EQ(answer.function, now && asked >= 600 ? now : symbol(name)) << name << " of " << asked;
            EXPECT_EQ(ask(name, asked, 1).function, answer.function) << name;
        }
        EXPECT_EQ(ask(name, 502).function, since <= 502 ? symbol(name) : nullptr) << name;
        for (const int older : {since - 1, (since / 100 * 10'000'000) + (since % 100 - 1) * 100'000}) {
            const Answer answer = ask(name, older);
            const bool too_new = since > 402 && since < 700;  // a program of version 7 finds all of it
            EXPECT_EQ(answer.code, too_new ? hipErrorInvalidValue : hipSuccess) << name << " of " << older;
            EXPECT_EQ(answer.status, too_new ? 2 : 0) << name << " of " << older;
            EXPECT_EQ(answer.function == nullptr, too_new) << name << " of " << older;
        }
        const Answer per_thread = ask(name, 702, 2), other = ask(name, 702, 0, "hipGetProcAddress_spt");
        EXPECT_EQ(per_thread.function, other.function) << name;
        EXPECT_TRUE(per_thread.function == ask(name, 702).function || per_thread.function == of_thread) << name;
        if (is_there && name.ends_with("_spt"))
            EXPECT_EQ(ask(name.substr(0, name.size() - 4), 702, 2).function, symbol(name)) << name;
    }
    void* library = nullptr;
};

TEST_F(Procedures, AreFoundForEachExportByTheVersionOfTheProgram) {
#define EXPORT(version, area, result, name, parameters) expect(#name, #version, true);
#include "strata/hip/api/exports.def"
#undef EXPORT
#define MISSING(version, name) expect(#name, #version, false);
#define MISSING_NAME(version, name) expect(#name, #version, false);
#define MISSING_RTC(version, name) expect(#name, #version, false);
#include "strata/hip/api/missing.def"
#undef MISSING_RTC
#undef MISSING_NAME
#undef MISSING
#define RTC(result, name, parameters, arguments) expect(#name, "4_2", true);
#include "strata/hip/api/hiprtc.def"
#undef RTC
}

TEST_F(Procedures, OfNoExportAreNotFound) {
    for (const char* name :
         {"hipNothing", "malloc", "hipMalloc_spt", "hipMallocR0600", "hipGetDevicePropertiesR0600R0600"}) {
        const Answer answer = ask(name, 702);
        EXPECT_EQ(answer.code, hipErrorInvalidValue) << name;
        EXPECT_EQ(answer.status, 1) << name;
        EXPECT_FALSE(answer.function) << name;
    }
}

TEST_F(Exports, FunctionsAreThereByTheirNames) {
    void* function = nullptr;
    int status = -1;
    EXPECT_EQ(hipGetProcAddress("hipGetDeviceProperties", &function, 600, 0, nullptr), hipSuccess);
    EXPECT_EQ(function, reinterpret_cast<void*>(&hipGetDevicePropertiesR0600));
    EXPECT_EQ(hipGetProcAddress("hipChooseDevice", &function, 507, 0, &status), hipSuccess);
    EXPECT_EQ(function, reinterpret_cast<void*>(&hipChooseDevice));
    EXPECT_EQ(hipGetProcAddress_spt("hipMemcpy", &function, 702, 0, &status), hipSuccess);
    EXPECT_EQ(function, reinterpret_cast<void*>(&hipMemcpy_spt));
    EXPECT_EQ(hipGetProcAddress_spt("hipMemcpy", &function, 702, 1, &status), hipSuccess);
    EXPECT_EQ(function, reinterpret_cast<void*>(&hipMemcpy)) << "the legacy stream is asked for";
    EXPECT_EQ(hipGetDriverEntryPoint("hipMalloc", &function, 0, &status), hipSuccess);
    EXPECT_EQ(function, reinterpret_cast<void*>(&hipMalloc));
    EXPECT_EQ(hipGetDriverEntryPoint_spt("hipStreamQuery", &function, 0, &status), hipSuccess);
    EXPECT_EQ(function, reinterpret_cast<void*>(&hipStreamQuery_spt));
    EXPECT_EQ(status, 0);
}

TEST_F(Exports, WhatIsNotThereSaysSoOnce) {
    void* library = dlopen(STRATA_HIP_FOLDER "/libamdhip64.so.7", RTLD_LAZY | RTLD_LOCAL);
    ASSERT_TRUE(library) << dlerror();
    const auto call = reinterpret_cast<int (*)()>(dlsym(library, "hipTexRefGetBorderColor"));
    ASSERT_TRUE(call);
    testing::internal::CaptureStderr();
    EXPECT_EQ(call(), hipErrorNotSupported);
    EXPECT_EQ(call(), hipErrorNotSupported);
    EXPECT_EQ(testing::internal::GetCapturedStderr(),
              "strata: hipTexRefGetBorderColor is not implemented: it returns hipErrorNotSupported\n");
    const auto name =
        reinterpret_cast<const char* (*)()>(dlsym(library, "hipApiName"));  // as it is defined: UBSan looks
    ASSERT_TRUE(name);
    testing::internal::CaptureStderr();
    EXPECT_STREQ(name(), "unknown");
    EXPECT_STREQ(name(), "unknown");
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "strata: hipApiName is not implemented: it returns unknown\n");
}

TEST_F(Exports, ArgumentsComeOneByOneOrAsOneBlock) {
    const AddOne add_one;
    void* const function = add_one.function;
    void *x = filled(std::vector<uint32_t>(32, 6)), *out = filled(std::vector<uint32_t>(32));
    void* one_by_one[] = {&out, &x};
    ASSERT_EQ(launch(function, one_by_one, nullptr), hipSuccess);
    EXPECT_EQ(read(out, 32), std::vector<uint32_t>(32, 7));
    void* block[] = {x, out};  // the other way round
    size_t bytes = sizeof block;
    void* extra[] = {reinterpret_cast<void*>(kBufferPointer), block, reinterpret_cast<void*>(kBufferSize), &bytes,
                     reinterpret_cast<void*>(kEnd)};
    ASSERT_EQ(launch(function, nullptr, extra), hipSuccess);
    EXPECT_EQ(read(x, 32), std::vector<uint32_t>(32, 8));
    EXPECT_EQ(launch(function, one_by_one, extra), hipErrorInvalidValue) << "both";
    EXPECT_EQ(launch(function, nullptr, nullptr), hipErrorInvalidValue) << "neither";
    void* wrong[] = {reinterpret_cast<void*>(uintptr_t{9}), block, reinterpret_cast<void*>(kEnd)};
    EXPECT_EQ(launch(function, nullptr, wrong), hipErrorInvalidValue);
    EXPECT_EQ(launch(nullptr, one_by_one, nullptr), hipErrorInvalidHandle);
    EXPECT_EQ(hipFree(x), hipSuccess);
    EXPECT_EQ(hipFree(out), hipSuccess);
}

TEST_F(Exports, TheLastErrorIsOfTheThreadAndIsToldOnce) {
    EXPECT_EQ(hipSetDevice(99), hipErrorInvalidDevice);
    std::thread([] { EXPECT_EQ(hipGetLastError(), hipSuccess); }).join();
    EXPECT_EQ(hipDeviceSynchronize(), hipSuccess);
    EXPECT_EQ(hipGetLastError(), hipErrorInvalidDevice) << "a call that succeeds keeps it";
    EXPECT_EQ(hipGetLastError(), hipSuccess);
}

TEST_F(Exports, NullPointersAreInvalid) {
    EXPECT_EQ(hipMalloc(nullptr, 4), hipErrorInvalidValue);
    EXPECT_EQ(hipMemGetInfo(nullptr, nullptr), hipSuccess) << "null pointers ask for nothing";
    EXPECT_EQ(hipGetDeviceCount(nullptr), hipErrorInvalidValue);
    EXPECT_EQ(hipGetDevicePropertiesR0600(nullptr, 0), hipErrorInvalidValue);
    EXPECT_EQ(hipMemcpyHtoD(nullptr, nullptr, 4), hipErrorInvalidValue);
    EXPECT_EQ(hipModuleLoadData(nullptr, nullptr), hipErrorInvalidValue);
    EXPECT_EQ(hipModuleUnload(nullptr), hipErrorInvalidHandle);
    EXPECT_EQ(hipStreamCreate(nullptr), hipErrorInvalidValue);
    EXPECT_EQ(hipStreamDestroy(nullptr), hipErrorInvalidHandle);
    EXPECT_EQ(hipEventRecord(nullptr, nullptr), hipErrorInvalidHandle);
    EXPECT_EQ(hipRuntimeGetVersion(nullptr), hipErrorInvalidValue);
    EXPECT_EQ(hipInit(1), hipErrorInvalidValue);
}

TEST_F(Exports, MemoryIsCountedAndNothingIsFreedTwice) {
    size_t before = 0, now = 0, total = 0;
    ASSERT_EQ(hipMemGetInfo(&before, &total), hipSuccess);
    void *memory = nullptr, *nothing = &now;
    ASSERT_EQ(hipMalloc(&memory, 1 << 20), hipSuccess);
    ASSERT_EQ(hipMemGetInfo(&now, &total), hipSuccess);
    EXPECT_EQ(before - now, 1u << 20);
    EXPECT_EQ(hipFree(memory), hipSuccess);
    EXPECT_EQ(hipFree(memory), hipErrorInvalidValue);
    EXPECT_EQ(hipMalloc(&nothing, 0), hipSuccess);
    EXPECT_EQ(nothing, nullptr);
    EXPECT_EQ(hipFree(nullptr), hipSuccess);
    EXPECT_EQ(hipMalloc(&memory, total + 1), hipErrorOutOfMemory);
    EXPECT_EQ(memory, nullptr);
}

TEST_F(Exports, CopiesGoFromDeviceToDevice) {
    void* here = filled({1, 2, 3, 4});
    ASSERT_EQ(hipSetDevice(1), hipSuccess);
    void* there = filled({0, 0, 0, 0});
    EXPECT_EQ(hipMemcpyDtoD(there, here, 16), hipSuccess);
    EXPECT_EQ(read(there, 4), (std::vector<uint32_t>{1, 2, 3, 4}));
    EXPECT_EQ(hipMemsetD8(here, 0xff, 4), hipSuccess) << "of another device than the thread's";
    EXPECT_EQ(read(here, 2), (std::vector<uint32_t>{~0u, 2}));
    EXPECT_EQ(hipMemcpyDtoD(there, here, 1 << 20), hipErrorInvalidValue);
    EXPECT_EQ(hipFree(here), hipSuccess);
    EXPECT_EQ(hipFree(there), hipSuccess);
    ASSERT_EQ(hipSetDevice(0), hipSuccess);
}

TEST_F(Exports, PropertiesAreTheSameInBothLayouts) {
    for (int device = 0; device < static_cast<int>(devices().size()); ++device) {
        std::array<std::byte, kPropertiesBytes5> five{};
        std::array<std::byte, kPropertiesBytesR0600> six{};
        ASSERT_EQ(hipGetDeviceProperties(five.data(), device), hipSuccess);
        ASSERT_EQ(hipGetDevicePropertiesR0600(six.data(), device), hipSuccess);
        const Properties a = read_properties(Layout::hip5, five), b = read_properties(Layout::r0600, six);
        const isa::ArchInfo& arch = isa::archs()[static_cast<size_t>(device) / 2];
        EXPECT_EQ(text_of(a.gcnArchName), text_of(b.gcnArchName));
        EXPECT_TRUE(text_of(a.gcnArchName).starts_with(arch.name));
        EXPECT_EQ(text_of(a.gcnArchName).ends_with(":sramecc+:xnack-"), is_cdna(arch.family));
        EXPECT_EQ(a.warpSize, arch.wave_size);
        EXPECT_EQ(b.warpSize, arch.wave_size);
        EXPECT_EQ(a.totalGlobalMem, b.totalGlobalMem);
        EXPECT_EQ(b.maxThreadsDim, (Int3{1024, 1024, 1024}));
    }
}

TEST_F(Exports, HalvesBecomeFloatsAndBack) {
    EXPECT_EQ(__gnu_h2f_ieee(0x3e00), 1.5f);
    EXPECT_EQ(__gnu_h2f_ieee(0x8001), -0x1p-24f);
    EXPECT_EQ(__gnu_f2h_ieee(1.5f), 0x3e00);
    EXPECT_EQ(__gnu_f2h_ieee(1 + 0x1p-11f), 0x3c00) << "to even";
    EXPECT_EQ(__gnu_f2h_ieee(1 + 0x3p-11f), 0x3c02);
    EXPECT_EQ(__gnu_f2h_ieee(65520), 0x7c00) << "infinity";
    for (unsigned bits = 0; bits < 0x7c00; ++bits)
        ASSERT_EQ(__gnu_f2h_ieee(__gnu_h2f_ieee(static_cast<uint16_t>(bits))), bits);
}

TEST_F(Exports, LaunchesOfEarlierHeadersTellNothingButTheirError) {
    const isa::Bytes code = add_one_code();
    const struct {
        uint32_t magic, version;
        const void *image, *unused;
    } wrapper{0x48495046, 1, code.data(), nullptr};
    void** const binary = __hipRegisterFatBinary(&wrapper);
    const char host = 0;
    __hipRegisterFunction(binary, &host, nullptr, "add_one", 0, nullptr, nullptr, nullptr, nullptr, nullptr);
    void *x = filled(counted(1)), *out = filled(Words(kCount)), *block[] = {out, x};
    size_t bytes = sizeof block;
    void* extra[] = {reinterpret_cast<void*>(kBufferPointer), block, reinterpret_cast<void*>(kBufferSize), &bytes,
                     reinterpret_cast<void*>(kEnd)};
    const Dim3 one{1, 1, 1}, items{kCount, 1, 1};
    const auto launch = [&](const void* function) {
        _ZN8hip_impl22hipLaunchKernelGGLImplEmRK4dim3S2_jP12ihipStream_tPPv(reinterpret_cast<uintptr_t>(function), one,
                                                                            items, 0, nullptr, extra);
        return hipGetLastError();
    };
    EXPECT_EQ(launch(&host), hipSuccess);
    EXPECT_EQ(read(out), counted(2));
    EXPECT_EQ(launch(&code), hipErrorInvalidDeviceFunction);
    __hipUnregisterFatBinary(binary);
    free_all({x, out});
}

}  // namespace
}  // namespace strata::hip::library
