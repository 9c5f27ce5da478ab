#include "compare_random.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "strata/codegen/driver/compile.h"
#include "strata/core/process/subprocess.h"
#include "strata/core/support/file.h"

namespace programs {
namespace {

constexpr unsigned items = RandomProgram::block * RandomProgram::blocks;

constexpr const char* host_words = R"(
typedef signed char int8_t; typedef short int16_t; typedef int int32_t; typedef long int64_t;
typedef unsigned char uint8_t; typedef unsigned short uint16_t; typedef unsigned int uint32_t; typedef unsigned long uint64_t;
typedef _Float16 half;
#define FN static inline
#define __device__
)";
constexpr const char* device_words =
    "#define FN static __device__ __forceinline__\n"
    "#if __AMDGCN_WAVEFRONT_SIZE__ == 64\n"
    "FN uint64_t ballot(bool condition) { return __builtin_amdgcn_ballot_w64(condition); }\n"
    "#else\n"
    "FN uint64_t ballot(bool condition) { return __builtin_amdgcn_ballot_w32(condition); }\n"
    "#endif\n";

const std::string& words() {
    static const std::string text =
        strata::read_file(fmt::format("{}/test/programs/fuzz/words.h", STRATA_SOURCE_DIR)).value();
    return text;
}

std::vector<uint64_t> inputs() {
    std::vector<uint64_t> pairs(RandomProgram::inputs / 2);
    for (size_t i = 0; i < pairs.size(); ++i) pairs[i] = random_bits(42, i) >> (i % 3 ? 0 : 7 * i % 64);
    return pairs;
}

/// A shared object of the host, loaded while this lives.
class Library {
  public:
    explicit Library(const std::string& source) {
        static const std::string compiler =
            strata::find_program("clang++-19", fmt::format("{}:/usr/bin", std::getenv("PATH")));
        std::string path = "/tmp/strata-random-XXXXXX";
        close(mkstemp(path.data()));
        auto made = strata::run_process(
            {compiler, "-x", "c++", "-std=c++20", "-O1", "-fPIC", "-shared", "-w", "-ffp-contract=off",
             "-fexcess-precision=16", "-fno-strict-aliasing", "-o", path, "-", "-lm"},
            source);
        if (made && made->ok()) library_ = dlopen(path.c_str(), RTLD_NOW);
        unlink(path.c_str());
        if (!library_)
            throw std::runtime_error(fmt::format("the host's compiler: {}", made ? made->err : made.error().message));
    }
    ~Library() { dlclose(library_); }
    Library(const Library&) = delete;
    void* symbol(const char* name) const { return dlsym(library_, name); }

  private:
    void* library_ = nullptr;
};

}  // namespace

HostResults::HostResults(const RandomProgram& program) {
    Library library(host_words + words() + program.host_text());
    auto fuzz = reinterpret_cast<void (*)(const uint64_t*, uint64_t*, uint32_t, uint32_t)>(library.symbol("fuzz"));
    const auto in = inputs();
    for (int wave : {32, 64}) {
        auto& out = wave == 32 ? wave32_ : wave64_;
        out.resize(items * RandomProgram::results());
        fuzz(in.data(), out.data(), RandomProgram::blocks, static_cast<uint32_t>(wave));
    }
}

std::string difference(const RandomProgram& program, const HostResults& host, const Machine& machine,
                       const std::string& level) {
    strata::codegen::HipSource source{
        .text = device_words + words() + program.device_text(), .kernel = "fuzz", .file_name = "random.cpp"};
    source.options = machine.options;
    source.options.insert(source.options.end(), {level, "-ffp-contract=off"});
    auto compiled = strata::codegen::compile_hip(source, machine.arch);
    if (!compiled) return compiled.error().message + "\n" + compiled.error().log;
    std::vector<uint64_t> got;
    try {
        auto run = make_device_run(machine, compiled->code_object());
        auto in = run->buffer(inputs());
        auto out = run->zeros<uint64_t>(items * RandomProgram::results());
        void (*none)(uint64_t*, uint64_t*) = nullptr;
        run->launch("fuzz", none, RandomProgram::blocks, RandomProgram::block, in, out);
        got = out.values();
    } catch (const strata::Exception& e) {
        return e.what();
    }
    const auto& wanted = host.of_wave(machine.wave);
    for (size_t i = 0; i < got.size(); ++i)
        if (got[i] != wanted[i])
            return fmt::format("work-item {}, result {}: {:#x}, on the host {:#x}", i / RandomProgram::results(),
                               i % RandomProgram::results(), got[i], wanted[i]);
    return "";
}

namespace {

bool differs(const RandomProgram& program, const Machine& machine, const std::string& level) {
    return !difference(program, HostResults(program), machine, level).empty();
}

/// Tries without each statement of a list, then within those that stay; `try_it` says whether the difference is still
/// there.
template <class Try>
void shrink(std::vector<Statement>& list, const Try& try_it) {
    for (size_t i = list.size(); i-- > 0;) {
        Statement removed = std::move(list[i]);
        list.erase(list.begin() + static_cast<ptrdiff_t>(i));
        if (try_it()) continue;
        list.insert(list.begin() + static_cast<ptrdiff_t>(i), std::move(removed));
        shrink(list[i].body, try_it);
    }
}

}  // namespace

RandomProgram minimised(RandomProgram program, const Machine& machine, const std::string& level) {
    auto try_it = [&] { return differs(program, machine, level); };
    for (auto& segment : program.segments) {
        Meeting meeting = std::exchange(segment.after, {});
        if (!try_it()) segment.after = meeting;
        std::vector<Statement> body = std::exchange(segment.body, {});
        if (try_it()) continue;
        segment.body = std::move(body);
        shrink(segment.body, try_it);
    }
    for (auto& function : program.functions) {
        shrink(function.body, try_it);
        std::string result = std::exchange(function.result, "a");
        if (!try_it()) function.result = result;
    }
    return program;
}

}  // namespace programs
