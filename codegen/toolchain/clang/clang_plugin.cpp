#include "strata/codegen/toolchain/clang/clang_plugin_p.h"

#include <dlfcn.h>

#include <atomic>
#include <exception>
#include <mutex>
#include <unordered_map>

#include "strata/codegen/toolchain/clang/build.h"
#include "strata/codegen/toolchain/clang/clang_p.h"
#include "strata/core/support/interrupt.h"
#include "strata/core/support/mutex.h"

namespace strata::codegen {
namespace {

std::atomic<StrataClangFinish> finish{nullptr};  ///< of the plugin that was loaded last

/// The plugin's entry, or null when it or the libraries it needs cannot be loaded. Stays loaded: LLVM cannot be
/// unloaded.
StrataClangCompile load(const std::string& path) {
    static Mutex mutex;
    static std::unordered_map<std::string, StrataClangCompile> loaded;
    std::lock_guard lock(mutex);
    if (auto known = loaded.find(path); known != loaded.end()) return known->second;
    StrataClangCompile entry = nullptr;
    if (void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
        auto version = reinterpret_cast<const int*>(dlsym(library, "strata_clang_version"));
        if (version && *version == strata_clang_interface) {
            entry = reinterpret_cast<StrataClangCompile>(dlsym(library, "strata_clang_compile"));
            finish = reinterpret_cast<StrataClangFinish>(dlsym(library, "strata_clang_finish"));
        }
    }
    return loaded[path] = entry;
}

/// LLVM has locks of its own, which a thread of the parent may have held when this process was forked.
class Use {
  public:
    Use() : allowed_(allowed()) { ++running; }
    ~Use() {
        if (!goes_on_) --running;
    }
    /// LLVM is still at work when this ends.
    void goes_on() { goes_on_ = true; }
    Use(const Use&) = delete;
    explicit operator bool() const { return allowed_; }

  private:
    static bool allowed() {
        if (process == Mutex::process_number()) return true;
        if (running > 0) return false;
        process = Mutex::process_number();
        return true;
    }
    static inline std::atomic<int> running{0};
    static inline std::atomic<uint32_t> process{0};
    const bool allowed_;
    bool goes_on_ = false;
};

/// Keeps what poll_interrupt() threw, for the caller of the plugin.
int wants_stop(void* interruption) {
    try {
        poll_interrupt();
    } catch (...) {
        *static_cast<std::exception_ptr*>(interruption) = std::current_exception();
        return 1;
    }
    return 0;
}

void append(void* text, const char* bytes, size_t size) { static_cast<std::string*>(text)->append(bytes, size); }

}  // namespace

void finish_clang() {
    if (const StrataClangFinish wait = finish) wait();
}

Result<ClangOutput> run_clang_in_process(const Toolchain& tools, const std::vector<std::string>& args,
                                         std::string_view input) {
    Use use;
    if (!use) return make_error(ErrorKind::Device, "clang was at work in the parent when this process was forked");
    StrataClangCompile entry = load(tools.plugin);
    if (!entry) return make_error(ErrorKind::Device, "{} cannot be loaded", tools.plugin);
    std::vector<const char*> words;
    for (const std::string& arg : args) words.push_back(arg.c_str());
    ClangOutput done;
    std::exception_ptr interruption;
    int status = entry(words.data(), words.size(), input.data(), input.size(), append, &done.output, &done.log,
                       wants_stop, &interruption);
    if (status == strata_clang_stopped) {
        use.goes_on();
        std::rethrow_exception(interruption);
    }
    if (status == strata_clang_unusable) return make_error(ErrorKind::Device, "clang in process failed: {}", done.log);
    done.ok = status == 0;
    return done;
}

}  // namespace strata::codegen
