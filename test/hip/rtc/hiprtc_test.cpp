// libhiprtc: what it compiles, what it refuses, in which words.
#include "strata/hip/rtc/exports_p.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "strata/asm/object/code_object.h"
#include "strata/hip/rtc/program_p.h"

namespace {

constexpr const char* kSource = R"(
#include "scale.h"
template <class T> __global__ void scale(T* x, T by) { x[threadIdx.x] *= by * FACTOR + bias; }
__device__ int table[3] = {1, 2, 3};
)";

class Hiprtc : public ::testing::Test {
  protected:
    void create(const char* source) {
        const char *text = "__constant__ float bias = 1;", *name = "scale.h";
        ASSERT_EQ(hiprtcCreateProgram(&program_, source, "scale.cu", 1, &text, &name), success);
    }
    int compile(std::vector<const char*> options) {
        return hiprtcCompileProgram(program_, static_cast<int>(options.size()), options.data());
    }
    std::string log() const {
        size_t bytes = 0;
        EXPECT_EQ(hiprtcGetProgramLogSize(program_, &bytes), success);
        std::string text(bytes, 0);
        EXPECT_EQ(hiprtcGetProgramLog(program_, text.data()), success);
        return text;
    }
    void TearDown() override {
        if (program_) EXPECT_EQ(hiprtcDestroyProgram(&program_), success);
    }
    void* program_ = nullptr;
};

TEST_F(Hiprtc, TemplatesAreCompiledForTheirExpressions) {
    create(kSource);
    const char* name = nullptr;
    ASSERT_EQ(hiprtcAddNameExpression(program_, "scale<float>"), success);
    ASSERT_EQ(hiprtcAddNameExpression(program_, "&table"), success);
    EXPECT_EQ(hiprtcGetLoweredName(program_, "scale<float>", &name), no_names_before_compilation);
    const int compiled = compile({"--gpu-architecture=gfx90a:sramecc+:xnack-", "-DFACTOR=2", "-O3"});
    if (compiled == internal_error) GTEST_SKIP() << log();
    ASSERT_EQ(compiled, success) << log();
    ASSERT_EQ(hiprtcGetLoweredName(program_, "scale<float>", &name), success);
    EXPECT_EQ(std::string(name), "_Z5scaleIfEvPT_S0_");
    ASSERT_EQ(hiprtcGetLoweredName(program_, "&table", &name), success);
    EXPECT_EQ(std::string(name), "table");
    EXPECT_EQ(hiprtcGetLoweredName(program_, "scale<int>", &name), expression_not_valid);
    EXPECT_EQ(hiprtcAddNameExpression(program_, "scale<int>"), no_expressions_after_compilation);
    size_t bytes = 0;
    ASSERT_EQ(hiprtcGetCodeSize(program_, &bytes), success);
    std::vector<char> code(bytes);
    ASSERT_EQ(hiprtcGetCode(program_, code.data()), success);
    const auto object = strata::isa::CodeObject::parse({code.begin(), code.end()});
    ASSERT_TRUE(object);
    EXPECT_EQ(object->arch, strata::isa::Arch::gfx90a);
    EXPECT_TRUE(object->find("_Z5scaleIfEvPT_S0_"));
}

TEST_F(Hiprtc, AMistakeIsInTheLog) {
    create("__global__ void f(float* x) { *x = y; }");
    const int compiled = compile({"--offload-arch=gfx90a"});
    if (compiled == internal_error) GTEST_SKIP() << log();
    EXPECT_EQ(compiled, compilation_error);
    EXPECT_NE(log().find("scale.cu:1:36: error: use of undeclared identifier 'y'"), std::string::npos) << log();
    size_t bytes = 0;
    EXPECT_EQ(hiprtcGetCodeSize(program_, &bytes), invalid_program);
}

TEST_F(Hiprtc, WhatIsNoneIsRefused) {
    void* nothing = nullptr;
    const char* name = nullptr;
    size_t bytes = 0;
    EXPECT_EQ(hiprtcCreateProgram(nullptr, "", "", 0, nullptr, nullptr), invalid_input);
    EXPECT_EQ(hiprtcCreateProgram(&nothing, nullptr, "", 0, nullptr, nullptr), invalid_input);
    EXPECT_EQ(hiprtcCreateProgram(&nothing, "", "", 1, nullptr, nullptr), invalid_input);
    EXPECT_EQ(hiprtcDestroyProgram(nullptr), invalid_input);
    EXPECT_EQ(hiprtcDestroyProgram(&nothing), invalid_program);
    EXPECT_EQ(hiprtcCompileProgram(nothing, 0, nullptr), invalid_program);
    EXPECT_EQ(hiprtcCompileProgram(nothing, 1, nullptr), invalid_input);
    EXPECT_EQ(hiprtcAddNameExpression(nothing, "f"), invalid_program);
    EXPECT_EQ(hiprtcAddNameExpression(nothing, nullptr), invalid_input);
    EXPECT_EQ(hiprtcGetLoweredName(nothing, "f", nullptr), invalid_input);
    EXPECT_EQ(hiprtcGetLoweredName(nothing, "f", &name), invalid_program);
    EXPECT_EQ(hiprtcGetProgramLogSize(nothing, nullptr), invalid_input);
    EXPECT_EQ(hiprtcGetProgramLogSize(nothing, &bytes), invalid_program);
    EXPECT_EQ(hiprtcGetProgramLog(nothing, nullptr), invalid_input);
    EXPECT_EQ(hiprtcGetCodeSize(nothing, nullptr), invalid_input);
    EXPECT_EQ(hiprtcGetCode(nothing, nullptr), invalid_input);
    EXPECT_EQ(hiprtcVersion(nullptr, nullptr), invalid_input);
    EXPECT_EQ(std::string(hiprtcGetErrorString(invalid_option)), "HIPRTC_ERROR_INVALID_OPTION");
    EXPECT_EQ(hiprtcGetErrorString(99), nullptr);
    create("");
    EXPECT_EQ(compile({"--offload-arch=gfx0"}), invalid_option);
    EXPECT_NE(log().find("gfx0"), std::string::npos);
}

TEST(HiprtcLibrary, BothLibrariesExportEachFunction) {
    for (const char* file : {STRATA_HIP_FOLDER "/libhiprtc.so.7", STRATA_HIP_FOLDER "/libamdhip64.so.5"}) {
        void* library = dlopen(file, RTLD_LAZY | RTLD_LOCAL);
        ASSERT_TRUE(library) << dlerror();
#define RTC(result, name, parameters, arguments) EXPECT_TRUE(dlsym(library, #name)) << file << ": " #name;
#include "strata/hip/api/hiprtc.def"
#undef RTC
        std::vector<std::string> missing;
#define MISSING(version, name)
#define MISSING_NAME(version, name)
#define MISSING_RTC(version, name) missing.emplace_back(#name);
#include "strata/hip/api/missing.def"
#undef MISSING_RTC
#undef MISSING_NAME
#undef MISSING
        for (const std::string& name : missing) {
            const auto call = reinterpret_cast<int (*)()>(dlsym(library, name.c_str()));
            ASSERT_TRUE(call) << file << ": " << name;
            testing::internal::CaptureStderr();
            EXPECT_EQ(call(), internal_error);
            EXPECT_EQ(call(), internal_error);
            EXPECT_EQ(testing::internal::GetCapturedStderr(),
                      "strata: " + name + " is not implemented: it returns HIPRTC_ERROR_INTERNAL_ERROR\n");
        }
        const auto text = reinterpret_cast<const char* (*)(int)>(dlsym(library, "hiprtcGetErrorString"));
        EXPECT_EQ(std::string(text(6)), "HIPRTC_ERROR_COMPILATION") << "libamdhip64 asks libhiprtc";
    }
}

}  // namespace
