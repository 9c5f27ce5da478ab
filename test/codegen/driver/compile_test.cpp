#include "strata/codegen/driver/compile.h"

#include <sys/wait.h>

#include "fixtures.h"
#include "strata/codegen/driver/compile_p.h"
#include "strata/core/support/file.h"

namespace strata::codegen {
namespace {

using isa::Arch;

const isa::KernelArg* find_argument(const isa::KernelInfo& kernel, std::string_view value_kind) {
    for (const isa::KernelArg& arg : kernel.args)
        if (arg.value_kind == value_kind) return &arg;
    return nullptr;
}

TEST_F(CompileTest, ARenderedKernelCompilesForEveryArch) {
    for (const isa::ArchInfo& arch : isa::archs()) {
        SCOPED_TRACE(arch.name);
        isa::CodeObject object = parsed(compile_hip(scale_kernel(1), arch.arch));
        EXPECT_EQ(object.arch, arch.arch);
        EXPECT_EQ(object.abi_version, 5);
        const isa::KernelInfo* kernel = object.find("scale");
        ASSERT_TRUE(kernel);
        EXPECT_EQ(kernel->wave_size, static_cast<uint32_t>(arch.wave_size));
        EXPECT_EQ(kernel->max_block, 256u);
        ASSERT_GE(kernel->args.size(), 2u);
        EXPECT_EQ(kernel->args[0].value_kind, "global_buffer");
        EXPECT_EQ(kernel->args[1].value_kind, "by_value");
    }
}

TEST_F(CompileTest, OnlyTheKernelIsLeftInTheCodeObject) {
    HipSource source{.text =
                         "__device__ float twice(float x) { return x * 2; }\n"
                         "extern \"C\" __global__ void k(float* x) { *x = twice(sin(*x)); }\n",
                     .kernel = "k"};
    for (int repeat = 0; repeat < 2; ++repeat) {
        source.text += "\n";
        isa::CodeObject object = parsed(compile_hip(source, Arch::gfx1100));
        for (const isa::Symbol& symbol : object.symbols)
            if (symbol.is_function) {
                EXPECT_EQ(symbol.name, "k");
            }
    }
}

TEST_F(CompileTest, ASecondCompilationComesFromMemoryAndAnotherProcessFindsItOnDisk) {
    auto first = compile_hip(scale_kernel(2), Arch::gfx1100);
    ASSERT_TRUE(first) << first.error().message;
    EXPECT_FALSE(first->cached);
    auto second = compile_hip(scale_kernel(2), Arch::gfx1100);
    ASSERT_TRUE(second);
    EXPECT_TRUE(second->cached);
    EXPECT_EQ(second->code_object(), first->code_object());
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder() + "/v2/objects"),
                            std::filesystem::directory_iterator()),
              1);
}

TEST_F(CompileTest, AnIncludedFileOfTheUserIsPartOfTheKey) {
    std::string header = folder() + "/my header.h";
    HipSource source{.text = "#include \"my header.h\"\nextern \"C\" __global__ void k(float* x) { *x = VALUE; }\n",
                     .kernel = "k",
                     .options = {"-I" + folder()}};
    auto compile_with = [&](const char* value) {
        EXPECT_TRUE(write_file_atomically(header, std::string("#define VALUE ") + value + "\n"));
        return compile_hip(source, Arch::gfx1100).value();
    };
    executable::Code one = compile_with("1.5f"), same = compile_with("1.5f"), two = compile_with("2.5f"),
                     back = compile_with("1.5f");
    EXPECT_FALSE(one.cached);
    EXPECT_TRUE(same.cached);
    EXPECT_FALSE(two.cached);
    EXPECT_NE(one.code_object(), two.code_object());
    EXPECT_EQ(one.code_object(), back.code_object());
}

/// A way to read a file of the user: what the text has, which header it reads, what another content of which file
/// changes.
struct Reads {
    const char *text, *changes, *before, *after;
};

TEST_F(CompileTest, AChangedFileIsCompiledAgainHoweverTheTextNamesIt) {
    const std::string value = "#define VALUE ";
    const Reads ways[] = {
        {"#include \"v.h\"", "v.h", "1", "2"},
        {"#import \"v.h\"", "v.h", "1", "2"},
        {"%:include \"v.h\"", "v.h", "1", "2"},
        {"#inc\\\nlude \"v.h\"", "v.h", "1", "2"},
        {"#inc\\ \nlude \"v.h\"", "v.h", "1", "2"},
        {"/* */ # /* */ include /* */ \"v.h\"", "v.h", "1", "2"},
        {"#define NAME \"v.h\"\n#include NAME", "v.h", "1", "2"},
        {"#include_next <v.h>", "v.h", "1", "2"},
        {"#include \"cost$ #1\\.h\"", "cost$ #1\\.h", "1", "2"},
        {"#include \"first.h\"", "v.h", "1", "2"},
        {"#if __has_include(\"late.h\")\n#define VALUE 2\n#else\n#define VALUE 1\n#endif", "late.h", nullptr, "9"},
        {"#include \"v.h\"", "a/v.h", nullptr, "2"},
        {"#include <v.h>", "a/v.h", nullptr, "2"},
        {"constexpr unsigned char bytes[] = {\n#embed BIN\n};\n#define VALUE bytes[0]", "d.bin", "1", "2"},
    };
    std::filesystem::create_directory(folder() + "/a");
    for (const Reads& way : ways) {
        for (const char* name : {"v.h", "a/v.h", "late.h", "d.bin", way.changes})
            std::filesystem::remove(folder() + "/" + name);
        ASSERT_TRUE(write_file_atomically(folder() + "/first.h", "#include \"v.h\"\n"));
        if (way.changes != std::string("v.h")) ASSERT_TRUE(write_file_atomically(folder() + "/v.h", value + "1\n"));
        const auto set = [&](const char* content) {
            const std::string prefix = way.changes == std::string("d.bin") ? "" : value;
            ASSERT_TRUE(write_file_atomically(folder() + "/" + way.changes, prefix + content + "\n"));
        };
        HipSource source{.text = std::string(way.text) + "\nextern \"C\" __global__ void k(float* x) { *x = VALUE; }\n",
                         .kernel = "k",
                         .options = {"-I" + folder() + "/a", "-I" + folder(), "-DBIN=\"" + folder() + "/d.bin\""}};
        if (way.before) set(way.before);
        const executable::Code one = compile_hip(source, Arch::gfx1100).value();
        EXPECT_EQ(compile_hip(source, Arch::gfx1100)->code_object(), one.code_object()) << way.text;
        set(way.after);
        const executable::Code two = compile_hip(source, Arch::gfx1100).value();
        EXPECT_FALSE(two.cached) << way.text;
        EXPECT_NE(two.code_object(), one.code_object()) << way.text;
    }
}

TEST_F(CompileTest, AnObjectWhoseFilesNobodyNamesIsNotKept) {
    ASSERT_TRUE(write_file_atomically(folder() + "/d.bin", "1"));
    const HipSource source{.text =
                               "extern \"C\" __global__ void k(float* x) { *x = 1; }\n"
                               "__asm__(\".in\" \"cbin \\\"" +
                               folder() + "/d.bin\\\"\");\n",
                           .kernel = "k",
                           .options = {"-I" + folder()}};
    EXPECT_FALSE(compile_hip(source, Arch::gfx1100).value().cached);
    EXPECT_FALSE(compile_hip(source, Arch::gfx1100).value().cached);
}

TEST_F(CompileTest, AKernelIsFoundByItsPlainName) {
    HipSource source{.text =
                         "namespace deep { template <class T> __global__ void twice(T* x) { *x += *x; }\n"
                         "template __global__ void twice<float>(float*); }\n"
                         "__global__ void sum(float* x, int n) { *x += n; }\n"
                         "__global__ void pair(float* x) { *x = 1; }\n"
                         "__global__ void pair(int* x) { *x = 1; }\n"};
    auto entry = [&](const char* name) {
        source.kernel = name;
        auto compiled = compile_hip(source, Arch::gfx1100);
        return compiled ? compiled->entry : compiled.error().message;
    };
    EXPECT_EQ(entry("sum"), "_Z3sumPfi");
    EXPECT_EQ(entry("_Z3sumPfi"), "_Z3sumPfi");
    EXPECT_EQ(entry("deep::twice"), "_ZN4deep5twiceIfEEvPT_");
    EXPECT_EQ(entry("deep::twice<float>"), "_ZN4deep5twiceIfEEvPT_");
    EXPECT_EQ(entry(""), "");
    EXPECT_NE(entry("pair").find("has 2 kernels 'pair'"), std::string::npos) << entry("pair");
    EXPECT_NE(entry("product").find("has no kernel 'product'; its kernels: "), std::string::npos) << entry("product");
    EXPECT_NE(entry("product").find("sum(float*, int)"), std::string::npos) << entry("product");
}

/// The result of a child process: its code object goes into a file.
struct Found {
    std::string code_object;
    bool cached;
};
Found compiled_by_a_child(const HipSource& source, const std::string& file) {
    pid_t child = fork();
    if (child == 0) {
        SearchPaths paths = SearchPaths::usual();
        paths.plugin.clear();
        auto compiled = compile_hip(source, Arch::gfx1100, paths);
        if (!compiled) _exit(2);
        write_file_atomically(
            file, {reinterpret_cast<const char*>(compiled->code_object().data()), compiled->code_object().size()});
        _exit(compiled->cached ? 1 : 0);
    }
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) < 2) << status;
    return {read_file(file).value_or(""), WIFEXITED(status) && WEXITSTATUS(status) == 1};
}

TEST_F(CompileTest, ADamagedCacheEntryIsRebuiltNeverLoaded) {
    const HipSource source = scale_kernel(60);
    const std::string result = folder() + "/result";
    Found good = compiled_by_a_child(source, result);
    EXPECT_FALSE(good.cached);
    EXPECT_TRUE(compiled_by_a_child(source, result).cached);
    std::string entry;
    for (auto& file : std::filesystem::directory_iterator(folder() + "/v2/objects")) entry = file.path();
    const std::string bytes = read_file(entry).value();
    for (size_t at : {size_t{0}, size_t{10}, size_t{60}, bytes.size() / 2, bytes.size() - 1}) {
        std::string bad = bytes;
        bad[at] ^= 1;
        ASSERT_TRUE(write_file_atomically(entry, bad));
        Found again = compiled_by_a_child(source, result);
        EXPECT_FALSE(again.cached) << at;
        EXPECT_EQ(again.code_object, good.code_object) << at;
        EXPECT_EQ(read_file(entry), bytes) << at;
    }
    for (size_t size : {size_t{0}, size_t{30}, bytes.size() / 2, bytes.size() - 1}) {
        ASSERT_TRUE(write_file_atomically(entry, bytes.substr(0, size)));
        Found again = compiled_by_a_child(source, result);
        EXPECT_FALSE(again.cached) << size;
        EXPECT_EQ(again.code_object, good.code_object) << size;
    }
}

TEST_F(CompileTest, ProcessesThatFillTheSameCacheAtOnceAllSucceed) {
    std::vector<pid_t> children;
    for (int i = 0; i < 4; ++i) {
        pid_t child = fork();
        if (child == 0) {
            SearchPaths paths = SearchPaths::usual();
            paths.plugin.clear();
            int failures = 0;
            for (int tag = 70; tag < 74; ++tag) failures += !compile_hip(scale_kernel(tag), Arch::gfx1100, paths);
            HipSource math{.text = "extern \"C\" __global__ void k(float* x) { *x = sinf(*x); }", .kernel = "k"};
            failures += !compile_hip(math, Arch::gfx1100, paths);
            _exit(failures);
        }
        children.push_back(child);
    }
    for (pid_t child : children) {
        int status = -1;
        ASSERT_EQ(waitpid(child, &status, 0), child);
        EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    }
    for (int tag = 70; tag < 74; ++tag) EXPECT_TRUE(compile_hip(scale_kernel(tag), Arch::gfx1100)->cached) << tag;
}

TEST_F(CompileTest, NoCacheCompilesEachTimeAndWritesNothing) {
    Settings next = settings();
    next.no_cache = true;
    ScopedSettings scope(next);
    for (int repeat = 0; repeat < 2; ++repeat) {
        auto compiled = compile_hip(scale_kernel(3), Arch::gfx1100);
        ASSERT_TRUE(compiled) << compiled.error().message;
        EXPECT_FALSE(compiled->cached);
    }
    EXPECT_TRUE(std::filesystem::is_empty(folder()));
}

TEST_F(CompileTest, OptionsAndArchArePartOfTheKey) {
    HipSource source = scale_kernel(4);
    auto plain = compile_hip(source, Arch::gfx1100);
    source.options = {"-O1", "-DN=4"};
    auto other = compile_hip(source, Arch::gfx1100);
    ASSERT_TRUE(plain && other);
    EXPECT_FALSE(other->cached);
    EXPECT_FALSE(compile_hip(source, Arch::gfx90a)->cached);
}

TEST_F(CompileTest, AnErrorNamesFileLineAndColumnOfTheUsersText) {
    HipSource source{.text = "extern \"C\" __global__ void k(float* x) {\n    *x = y;\n    undefined_too(x);\n}\n",
                     .kernel = "k",
                     .file_name = "mine.hip"};
    for (bool freestanding : {true, false}) {
        SCOPED_TRACE(freestanding);
        source.freestanding = freestanding;
        auto compiled = compile_hip(source, Arch::gfx1100);
        ASSERT_FALSE(compiled);
        const Error& error = compiled.error();
        EXPECT_EQ(error.kind, ErrorKind::Compile);
        EXPECT_EQ(error.file, "mine.hip");
        EXPECT_EQ(error.line, 2);
        EXPECT_EQ(error.column, 10);
        EXPECT_NE(error.message.find("mine.hip:2:10: error: use of undeclared identifier 'y'"), std::string::npos)
            << error.message;
        EXPECT_NE(error.message.find("(1 more error)"), std::string::npos) << error.message;
        EXPECT_NE(error.message.find("*x = y;"), std::string::npos) << error.message;
        EXPECT_NE(error.log.find("mine.hip:3:5"), std::string::npos) << error.log;
        EXPECT_EQ(error.source, source.text);
    }
}

TEST_F(CompileTest, AnUndefinedDeviceFunctionIsACompileErrorThatNamesIt) {
    HipSource source{.text =
                         "__device__ float far_away(float);\n"
                         "extern \"C\" __global__ void k(float* x) { *x = far_away(*x); }\n",
                     .kernel = "k"};
    auto compiled = compile_hip(source, Arch::gfx1100);
    ASSERT_FALSE(compiled);
    EXPECT_EQ(compiled.error().kind, ErrorKind::Compile);
    EXPECT_NE(compiled.error().message.find("far_away"), std::string::npos) << compiled.error().message;
}

TEST_F(CompileTest, AnOptionThatClangDoesNotKnowIsACompileErrorThatNamesIt) {
    Settings next = settings();
    next.unsafe_options = true;
    ScopedSettings scope(next);
    HipSource source = scale_kernel(5);
    source.options = {"-fno-such-thing"};
    auto compiled = compile_hip(source, Arch::gfx1100);
    ASSERT_FALSE(compiled);
    EXPECT_EQ(compiled.error().kind, ErrorKind::Compile);
    EXPECT_NE(compiled.error().message.find("-fno-such-thing"), std::string::npos) << compiled.error().message;
}

TEST_F(CompileTest, AMissingCompilerNamesTheDebianPackages) {
    auto compiled = compile_hip(scale_kernel(6), Arch::gfx1100, SearchPaths{});
    ASSERT_FALSE(compiled);
    EXPECT_EQ(compiled.error().kind, ErrorKind::Device);
    for (const char* package : {"clang-19", "rocm-device-libs", "libamdhip64-dev"})
        EXPECT_NE(compiled.error().message.find(package), std::string::npos) << compiled.error().message;
}

TEST_F(CompileTest, MissingHeadersAndLibrariesAreNamedOnlyWhereTheyAreNeeded) {
    SearchPaths paths = SearchPaths::usual();
    paths.bitcode.clear();
    paths.hip_headers.clear();
    EXPECT_TRUE(compile_hip(scale_kernel(7), Arch::gfx1100, paths));
    HipSource math{.text = "extern \"C\" __global__ void k(float* x) { *x = sinf(*x); }\n", .kernel = "k"};
    auto compiled = compile_hip(math, Arch::gfx1100, paths);
    ASSERT_FALSE(compiled);
    EXPECT_NE(compiled.error().message.find("rocm-device-libs"), std::string::npos) << compiled.error().message;
    HipSource user = scale_kernel(7);
    user.freestanding = false;
    compiled = compile_hip(user, Arch::gfx1100, paths);
    ASSERT_FALSE(compiled);
    EXPECT_NE(compiled.error().message.find("libamdhip64-dev"), std::string::npos) << compiled.error().message;
}

constexpr const char* block_sum = R"(#include <hip/hip_runtime.h>
extern "C" __global__ void block_sum(const float* x, float* out, int n) {
    __shared__ float part[256];
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += x[i];
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int step = STEP; step > 0; step /= 2) {
        if (threadIdx.x < step) part[threadIdx.x] += part[threadIdx.x + step];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = expf(part[0]);
}
)";

TEST_F(CompileTest, AUserKernelWithHipRuntimeHeaderGetsItsHiddenArguments) {
    HipSource source{.text = block_sum, .kernel = "block_sum", .freestanding = false, .options = {"-DSTEP=128"}};
    for (Arch arch : {Arch::gfx1100, Arch::gfx942}) {
        isa::CodeObject object = parsed(compile_hip(source, arch));
        const isa::KernelInfo* kernel = object.find("block_sum");
        ASSERT_TRUE(kernel);
        EXPECT_EQ(kernel->lds, 1024u);
        EXPECT_TRUE(find_argument(*kernel, "hidden_group_size_x"));
        EXPECT_TRUE(find_argument(*kernel, "hidden_block_count_x"));
    }
}

TEST_F(CompileTest, ThePrecompiledHeaderIsMadeOnceAndADamagedOneIsMadeAgain) {
    HipSource source{.text = block_sum, .kernel = "block_sum", .freestanding = false, .options = {"-DSTEP=16"}};
    auto first = compile_hip(source, Arch::gfx1100);
    ASSERT_TRUE(first) << first.error().message << first.error().log;
    std::string header;
    for (auto& entry : std::filesystem::directory_iterator(folder() + "/v2/precompiled_headers"))
        if (entry.path().extension() != ".sum") header = entry.path();
    ASSERT_FALSE(header.empty());
    auto before = std::filesystem::last_write_time(header);
    source.options = {"-DSTEP=64"};
    ASSERT_TRUE(compile_hip(source, Arch::gfx1100));
    EXPECT_EQ(std::filesystem::last_write_time(header), before);

    std::string bytes = *read_file(header);
    bytes[bytes.size() / 2] ^= 1;
    ASSERT_TRUE(write_file_atomically(header, bytes));
    source.options = {"-DSTEP=32"};
    auto again = compile_hip(source, Arch::gfx1100);
    ASSERT_TRUE(again) << again.error().message << again.error().log;
    EXPECT_NE(*read_file(header), bytes);
}

TEST_F(CompileTest, AssemblyTextNamesTheKernelAndItsResources) {
    auto text = compile_to_assembly(scale_kernel(8), Arch::gfx1100);
    ASSERT_TRUE(text) << text.error().message;
    EXPECT_NE(text->find("scale:"), std::string::npos);
    EXPECT_NE(text->find(".amdhsa_kernel scale"), std::string::npos);
    EXPECT_NE(text->find("v_mul_f32"), std::string::npos);
}

}  // namespace
}  // namespace strata::codegen
